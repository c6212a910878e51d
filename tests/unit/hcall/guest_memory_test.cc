// Page flags of H_ENTER and H_PAGE_INIT where the partition has guest memory to act on.

#include "hcall/guest_memory.h"

#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecordedMemory : public GuestMemory {
 public:
  void Zero(uint64_t address, uint64_t bytes) override { zeroed.emplace_back(address, bytes); }
  void Copy(uint64_t destination, uint64_t source, uint64_t bytes) override {
    copied.emplace_back(destination, source, bytes);
  }

  std::vector<std::pair<uint64_t, uint64_t>> zeroed;
  std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> copied;
};

class GuestMemoryTest : public testing::Test {
 protected:
  void Make(std::string_view spec) {
    auto parsed = ParsePartitionSpec(spec);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    parsed->config.guest_memory = memory_;
    partition_ = *Partition::Create(std::move(parsed->config));
  }
  int64_t Enter(uint64_t flags, uint64_t ptex, uint64_t v, uint64_t r) {
    return Call(*partition_, kHEnter, {flags | kFlagExact, ptex, v, r}).return_code;
  }

  std::shared_ptr<RecordedMemory> memory_ = std::make_shared<RecordedMemory>();
  std::unique_ptr<Partition> partition_;
};

TEST_F(GuestMemoryTest, EnterZeroesTheActualPage) {
  Make("order=18,ram=0:1G");
  EXPECT_EQ(Enter(kFlagZeroPage, 0, 0x1f81, 0xfff012), kHSuccess);
  EXPECT_EQ(Enter(kFlagZeroPage, 1, 0x1f85, 0x1231012), kHSuccess);
  EXPECT_EQ(Enter(kFlagZeroPage, 2, 0x1f85, 0x1237012), kHSuccess);
  EXPECT_EQ(Enter(0, 3, 0x1f81, 0xfff012), kHSuccess);
  EXPECT_EQ(Enter(kFlagICacheInvalidate | kFlagICacheSynchronize, 4, 0x1f81, 0xfff012), kHSuccess);
  EXPECT_THAT(memory_->zeroed,
              ElementsAre(std::pair(0xfff000, 0x1000), std::pair(0x1230000, 0x10000),
                          std::pair(0x1230000, 0x10000)));
}

TEST_F(GuestMemoryTest, EnterOfALargePageWithPageFlagsIsTooBig) {
  Make("order=18,ram=0:1G");
  for (const uint64_t flag : {kFlagZeroPage, kFlagICacheInvalidate, kFlagICacheSynchronize}) {
    EXPECT_EQ(Enter(flag, 0, 0x1f85, 0x2008012), kHTooBig);
  }
  EXPECT_THAT(memory_->zeroed, IsEmpty());
  EXPECT_EQ(partition_->GetStatistics().valid, 0u);
  EXPECT_EQ(Enter(0, 0, 0x1f85, 0x2008012), kHSuccess);
}

TEST_F(GuestMemoryTest, EnterThatFailsZeroesNothing) {
  Make("order=18,ram=0:1G");
  EXPECT_EQ(Enter(0, 0, 0x1f81, 0xfff012), kHSuccess);
  EXPECT_EQ(Enter(kFlagZeroPage, 0, 0x1f81, 0xfff012), kHPtegFull);
  EXPECT_EQ(Enter(kFlagZeroPage, 0x4000, 0x1f81, 0xfff012), kHParameter);
  EXPECT_THAT(memory_->zeroed, IsEmpty());
}

TEST_F(GuestMemoryTest, EnterOfIoZeroesNothing) {
  Make("order=18,ram=0:1G");
  EXPECT_EQ(Enter(kFlagZeroPage, 0, 0x1f81, 0x1000000002a), kHSuccess);
  EXPECT_THAT(memory_->zeroed, IsEmpty());
}

TEST_F(GuestMemoryTest, QemuIgnoresThePageFlagsOfEnter) {
  Make("order=18,ram=0:1G,profile=qemu-tcg");
  EXPECT_EQ(Enter(kFlagZeroPage, 0, 0x1f81, 0xfff012), kHSuccess);
  EXPECT_THAT(memory_->zeroed, IsEmpty());
}

TEST_F(GuestMemoryTest, PageInitZeroesOrCopiesFourKilobytes) {
  for (const char* spec : {"order=18,ram=0:1G", "order=18,ram=0:1G,profile=qemu-tcg"}) {
    memory_ = std::make_shared<RecordedMemory>();
    Make(spec);
    EXPECT_EQ(Call(*partition_, kHPageInit, {kFlagZeroPage, 0x5000}).return_code, kHSuccess);
    EXPECT_EQ(Call(*partition_, kHPageInit, {kFlagCopyPage, 0x5000, 0x7000}).return_code,
              kHSuccess);
    // Copy wins over zero.
    EXPECT_EQ(
        Call(*partition_, kHPageInit, {kFlagCopyPage | kFlagZeroPage, 0x6000, 0x8000}).return_code,
        kHSuccess);
    EXPECT_EQ(Call(*partition_, kHPageInit, {0, 0x5000}).return_code, kHSuccess);
    EXPECT_EQ(Call(*partition_, kHPageInit, {kFlagZeroPage, 0x5001}).return_code, kHParameter);
    EXPECT_EQ(Call(*partition_, kHPageInit, {kFlagZeroPage, 0x40000000}).return_code, kHParameter);
    EXPECT_THAT(memory_->zeroed, ElementsAre(std::pair(0x5000, 0x1000)));
    EXPECT_THAT(memory_->copied, ElementsAre(std::tuple(0x5000, 0x7000, 0x1000),
                                             std::tuple(0x6000, 0x8000, 0x1000)));
  }
}

}  // namespace
}  // namespace papr::hcall
