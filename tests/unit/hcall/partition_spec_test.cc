#include "hcall/partition_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = MemoryRegion::Kind;

TEST(PartitionSpec, AnEmptyTextIsADefaultPartition) {
  const auto spec = ParsePartitionSpec("");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->name.empty());
  EXPECT_EQ(spec->config.order, 24);
  EXPECT_EQ(spec->config.profile, Profile::kKvmHv);
  EXPECT_THAT(spec->config.memory, ElementsAre(MemoryRegion{0, uint64_t{1} << 30, Kind::kRam}));
  EXPECT_EQ(spec->config.features, Features::Default(Profile::kKvmHv));
}

TEST(PartitionSpec, EveryKey) {
  const auto spec = ParsePartitionSpec(
      "name=lpar1,order=20,ram=0:1G,ram=4G:512M,io=0x10000000000:64K,profile=kvm-hv,"
      "processor=power9,mmu=hash,page-sizes=4K/0/4K:0/64K:7;64K/110/64K:1,page-match=whole,"
      "features=bulk-remove+block-remove+hash,block-remove=4K/4K+64K/64K,max-order=30,"
      "resize=manual,strict-flags=true,hash-opcode-base=0xf910,"
      "track-guest-pages=true");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "lpar1");
  const PartitionConfig& config = spec->config;
  EXPECT_EQ(config.order, 20);
  EXPECT_THAT(config.memory,
              ElementsAre(MemoryRegion{0, uint64_t{1} << 30, Kind::kRam},
                          MemoryRegion{uint64_t{4} << 30, uint64_t{512} << 20, Kind::kRam},
                          MemoryRegion{0x10000000000, 0x10000, Kind::kIo}));
  EXPECT_EQ(config.processor, Processor::kPower9);
  EXPECT_EQ(config.page_sizes.match(), mmu::PageSizeTable::Match::kWholePage);
  EXPECT_EQ(config.page_sizes.LpOf({mmu::k4K, mmu::k64K}), 0x7u);
  EXPECT_EQ(config.page_sizes.LpOf({mmu::k16M, mmu::k16M}), std::nullopt);
  EXPECT_EQ(config.features, (Features{.bulk_remove = true,
                                       .block_remove = true,
                                       .hash = true,
                                       .resize = false,
                                       .clear_rc = false,
                                       .page_init = false,
                                       .clear_hpt = false}));
  EXPECT_THAT(config.block_remove_sizes, ElementsAre(mmu::PageSizes{mmu::k4K, mmu::k4K},
                                                     mmu::PageSizes{mmu::k64K, mmu::k64K}));
  EXPECT_EQ(config.max_order, 30);
  EXPECT_EQ(config.resize_preparation, ResizePreparation::kManual);
  EXPECT_TRUE(config.strict_flags);
  EXPECT_TRUE(config.track_guest_pages);
  EXPECT_EQ(config.hash_opcode_base, 0xf910u);
}

TEST(PartitionSpec, DefaultsFollowTheProfileWhereverItStands) {
  for (const char* text : {"profile=qemu-tcg,no-resize", "no-resize,profile=qemu-tcg"}) {
    const auto spec = ParsePartitionSpec(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    Features expected = Features::Default(Profile::kQemuTcg);
    expected.resize = false;
    EXPECT_EQ(spec->config.features, expected);
    EXPECT_EQ(spec->config.page_sizes.match(), mmu::PageSizeTable::Match::kWholePage);
    EXPECT_EQ(spec->config.page_sizes.LpOf({mmu::k16M, mmu::k16M}), std::nullopt);
  }
}

TEST(PartitionSpec, ResizeDenied) {
  const auto spec = ParsePartitionSpec("resize=denied");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_FALSE(spec->config.resize_permitted);
}

TEST(PartitionSpec, NamedPageSizeTables) {
  EXPECT_EQ(ParsePartitionSpec("profile=qemu-tcg,page-sizes=power")
                ->config.page_sizes.LpOf({mmu::k16G, mmu::k16G}),
            0x3u);
  EXPECT_EQ(ParsePartitionSpec("page-sizes=qemu")->config.page_sizes.LpOf({mmu::k4K, mmu::k16M}),
            std::nullopt);
}

TEST(PartitionSpec, ErrorsNameTheKey) {
  const std::pair<const char*, const char*> kBad[] = {
      {"order=x", "order"},
      {"order=20,order=21", "order: given twice"},
      {"name=a,ram=0:1G,name=b", "name: given twice"},
      {"no-hash,no-hash", "no-hash: given twice"},
      {"order=", "order"},
      {"order=17", "order"},
      {"order=24.5", "order"},
      {"max-order=ten", "max-order"},
      {"ram=1G", "ram"},
      {"ram=0:1G:2G", "ram"},
      {"ram=0:0", "memory[0].size"},
      {"ram=0:1X", "ram"},
      {"ram=0:1G,ram=512M:1G", "memory[1]"},
      {"io=0:64K", "memory"},
      {"profile=pr", "profile"},
      {"processor=power10", "processor"},
      {"mmu=soft", "mmu"},
      {"page-sizes=4K", "page-sizes"},
      {"page-sizes=4K/0/5K:0", "page-sizes"},
      {"page-sizes=4K/0/4K", "page-sizes"},
      {"page-sizes=4K/zz/4K:0", "page-sizes"},
      {"page-sizes=4K/200/4K:0", "page-sizes"},
      {"page-match=some", "page-match"},
      {"features=everything", "features"},
      {"no-everything", "features"},
      {"block-remove=4K", "block-remove"},
      {"block-remove=4K/3K", "block-remove"},
      {"block-remove=16M/16M", "block_remove_sizes"},
      {"resize=maybe", "resize"},
      {"strict-flags=1", "strict-flags"},
      {"track-guest-pages=yes", "track-guest-pages"},
      {"track-guest-pages=true,order=36", "order"},
      {"hash-opcode-base=f900h", "hash-opcode-base"},
      {"hash-opcode-base=0xf801", "hash_opcode_base"},
      {"profile=qemu-tcg,features=clear-rc", "features.clear_rc"},
      {"color=red", "color"},
      {"order", "order"},
      {"=24", "no key"}};
  for (const auto& [text, key] : kBad) {
    const auto spec = ParsePartitionSpec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(key)) << text;
  }
}

TEST(ParseBytes, NumbersAndSuffixes) {
  const std::pair<const char*, uint64_t> kGood[] = {{"0", 0},
                                                    {"4096", 4096},
                                                    {"0x1000", 4096},
                                                    {"64K", 65536},
                                                    {"512M", 536870912},
                                                    {"1G", uint64_t{1} << 30},
                                                    {"2T", uint64_t{2} << 40},
                                                    {"18446744073709551615", ~uint64_t{0}},
                                                    {"0xffffffffffffffff", ~uint64_t{0}},
                                                    {"16777215T", uint64_t{16777215} << 40}};
  for (const auto& [text, bytes] : kGood) {
    const auto parsed = ParseBytes(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
  for (const char* text :
       {"", "K", "1X", "-1", "0x", "1.5G", "16777216T", "18446744073709551616", "1KK", "G1"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

}  // namespace
}  // namespace papr::hcall
