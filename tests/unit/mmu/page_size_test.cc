#include "mmu/page_size.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mmu/hpte.h"

namespace papr::mmu {
namespace {

using testing::HasSubstr;
using Match = PageSizeTable::Match;

PageSizeTable QemuWith16M() {
  return *PageSizeTable::Create({{k4K, 0x000, {{k4K, 0}, {k16M, 0x38}}},
                                 {k64K, 0x110, {{k64K, 0x1}, {k16M, 0x8}}},
                                 {k16M, 0x100, {{k16M, 0x0}}}},
                                Match::kWholePage);
}

// All 256 values of the LP field with L = 1.
TEST(PageSizeTable, EveryLpByte) {
  std::map<int, PageSizes> valid = {
      {0x00, {k16M, k16M}}, {0x03, {k16G, k16G}}, {0x08, {k64K, k16M}}, {0x38, {k4K, k16M}}};
  for (int high = 0; high < 16; ++high) {
    valid[high << 4 | 1] = {k64K, k64K};
    valid[high << 4 | 7] = {k4K, k64K};
  }
  ASSERT_EQ(valid.size(), 36u);
  for (int lp = 0; lp < 256; ++lp) {
    const uint64_t r = static_cast<uint64_t>(lp) << kRLpShift;
    const auto sizes = PageSizeTable::Power().Decode(kVLarge, r);
    ASSERT_EQ(sizes.has_value(), valid.contains(lp)) << lp;
    if (sizes.has_value()) {
      EXPECT_EQ(*sizes, valid[lp]) << lp;
    }
    // Bits outside the field do not matter.
    EXPECT_EQ(PageSizeTable::Power().Decode(~uint64_t{0}, r | ~kRLp), sizes) << lp;
    // Without L the field is address.
    EXPECT_EQ(PageSizeTable::Power().Decode(0, r), (PageSizes{k4K, k4K})) << lp;
  }
}

TEST(PageSizeTable, QemuDefaultOffersOnly4KAnd64K) {
  for (int lp = 0; lp < 256; ++lp) {
    const auto sizes =
        PageSizeTable::QemuDefault().Decode(kVLarge, static_cast<uint64_t>(lp) << kRLpShift);
    ASSERT_EQ(sizes.has_value(), (lp & 0xf) == 1) << lp;
    if (sizes.has_value()) {
      EXPECT_EQ(*sizes, (PageSizes{k64K, k64K}));
    }
  }
  EXPECT_EQ(PageSizeTable::QemuDefault().Decode(~kVLarge, 0x2000), (PageSizes{k4K, k4K}));
}

// 16 MB in 64K: KVM looks at the LP field, QEMU at every bit below the page.
TEST(PageSizeTable, AddressBitsBelowALargePage) {
  for (const uint64_t bit : {0x100000, 0x200000, 0x400000, 0x800000}) {
    EXPECT_EQ(PageSizeTable::Power().Decode(kVLarge, 0x8012 | bit), (PageSizes{k64K, k16M}));
    EXPECT_EQ(QemuWith16M().Decode(kVLarge, 0x8012 | bit), std::nullopt);
  }
  EXPECT_EQ(QemuWith16M().Decode(kVLarge, 0x8012), (PageSizes{k64K, k16M}));
  EXPECT_EQ(QemuWith16M().Decode(kVLarge, 0x45008012), (PageSizes{k64K, k16M}));
  EXPECT_EQ(PageSizeTable::Power().Decode(kVLarge, 0x3ff003012), (PageSizes{k16G, k16G}));
}

// 64K in 4K: no pseries machine of QEMU offers it.
TEST(PageSizeTable, QemuHasNo64KIn4K) {
  EXPECT_EQ(PageSizeTable::Power().Decode(kVLarge, 0x7012), (PageSizes{k4K, k64K}));
  EXPECT_EQ(QemuWith16M().Decode(kVLarge, 0x7012), std::nullopt);
}

TEST(PageSizeTable, LpOf) {
  const PageSizeTable& power = PageSizeTable::Power();
  EXPECT_EQ(power.LpOf({k4K, k4K}), 0u);
  EXPECT_EQ(power.LpOf({k4K, k64K}), 0x7u);
  EXPECT_EQ(power.LpOf({k4K, k16M}), 0x38u);
  EXPECT_EQ(power.LpOf({k64K, k64K}), 0x1u);
  EXPECT_EQ(power.LpOf({k64K, k16M}), 0x8u);
  EXPECT_EQ(power.LpOf({k16M, k16M}), 0x0u);
  EXPECT_EQ(power.LpOf({k16G, k16G}), 0x3u);
  EXPECT_EQ(power.LpOf({k64K, k16G}), std::nullopt);
  EXPECT_EQ(power.LpOf({20, 20}), std::nullopt);
  EXPECT_EQ(PageSizeTable::QemuDefault().LpOf({k4K, k16M}), std::nullopt);
}

TEST(PageSizeTable, SlbEncodings) {
  const auto& segments = PageSizeTable::Power().segments();
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_EQ(segments[0].slb, 0x000u);
  EXPECT_EQ(segments[1].slb, 0x110u);
  EXPECT_EQ(segments[2].slb, 0x100u);
  EXPECT_EQ(segments[3].slb, 0x120u);
}

TEST(PageSizeTable, EncodeROfEverySize) {
  EXPECT_EQ(EncodeR(0x1234567, k4K, 0x7, 0x12), 0x1234012u);  // 4K pages have no LP
  EXPECT_EQ(EncodeR(0x1234567, k64K, 0x1, 0x12), 0x1231012u);
  EXPECT_EQ(EncodeR(0x1234567, k64K, 0x7, 0x12), 0x1237012u);
  EXPECT_EQ(EncodeR(0x1234567, k16M, 0x38, 0x192), 0x1038192u);
  EXPECT_EQ(EncodeR(0x512345678, k16G, 0x3, 0), 0x400003000u);
  EXPECT_EQ(EncodeR(~uint64_t{0}, k4K, 0, 0), kRRpn);
}

struct BadTable {
  const char* what;
  std::vector<SegmentPageSize> segments;
  const char* message;
};

TEST(PageSizeTable, CreateRefusesWhatCannotBe) {
  const BadTable kBad[] = {
      {"base too small", {{11, 0, {}}}, "base page shift 11"},
      {"base too large", {{41, 0, {}}}, "base page shift 41"},
      {"actual below base", {{k64K, 0x110, {{k4K, 0}}}}, "actual page shift 12 of base shift 16"},
      {"actual too large", {{k4K, 0, {{41, 0}}}}, "actual page shift 41"},
      {"SLB bits", {{k4K, 0x200, {{k4K, 0}}}}, "SLB encoding 0x200"},
      {"SLB bits", {{k4K, 0x1, {{k4K, 0}}}}, "SLB encoding 0x1"},
      {"SLB bits", {{k4K, 0x140, {{k4K, 0}}}}, "SLB encoding 0x140"},
      {"LP beyond the page", {{k4K, 0, {{k64K, 0x10}}}}, "LP encoding 0x10"},
      {"LP beyond the field", {{k16M, 0x100, {{k16M, 0x100}}}}, "LP encoding 0x100"},
      {"pair twice", {{k4K, 0, {{k64K, 0x7}, {k64K, 0x1}}}}, "pair 12:16 stands twice"},
      {"one LP for two sizes of a base",
       {{k64K, 0x110, {{k64K, 0x1}, {k16M, 0x1}}}},
       "LP encoding 0x1 of pair 16:24 may also be that of pair 16:16"},
      {"one LP for two bases",
       {{k4K, 0, {{k16M, 0x8}}}, {k64K, 0x110, {{k16M, 0x8}}}},
       "LP encoding 0x8 of pair 16:24 may also be that of pair 12:24"},
      {"LP of a 4K page", {{k4K, 0, {{k4K, 0x5}}}}, "LP encoding 0x5"},
      {"SLB twice",
       {{k4K, 0, {{k4K, 0}}}, {k64K, 0, {{k64K, 0x1}}}},
       "SLB encoding 0x0 stands for base shifts 12 and 16"},
      {"base twice", {{k4K, 0, {{k4K, 0}}}, {k4K, 0, {{k4K, 0}}}}, "base page shift 12 stands"}};
  for (const BadTable& bad : kBad) {
    const auto table = PageSizeTable::Create(bad.segments, Match::kLpField);
    ASSERT_FALSE(table.ok()) << bad.what;
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(bad.message));
  }
}

TEST(PageSizeTable, CreateTakesTheSmallestAndTheLargestPages) {
  const auto table = PageSizeTable::Create(
      {{12, 0, {{12, 0}, {40, 0x7}}}, {40, 0x130, {{40, 0x3}}}}, Match::kLpField);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->LpOf({12, 40}), 0x7u);
  EXPECT_EQ(table->LpOf({40, 40}), 0x3u);
}

}  // namespace
}  // namespace papr::mmu
