#include "hcall/guest_pages.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Clear = mmu::ReferenceHarvest::Clear;
using Take = mmu::DirtyLog::Take;

constexpr uint64_t kRc = mmu::kRReferenced | mmu::kRChanged;

void Enter(Partition& partition, uint64_t ptex, uint64_t v, uint64_t r) {
  ASSERT_EQ(Call(partition, kHEnter, {kFlagExact, ptex, v, r}).return_code, kHSuccess);
}

template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

TEST(GuestPages, APartitionThatDoesNotTrackSaysWhatToDo) {
  const auto partition = MakePartition("order=18");
  EXPECT_EQ(partition->reverse_map(), nullptr);
  EXPECT_EQ(partition->GetStatistics().tracking_bytes, 0u);
  for (const absl::Status& status :
       {StatusOf(TakeDirtyPages(*partition, 0, 1, Take::kYes)),
        StatusOf(ListMappings(*partition, 0, 1)), StatusOf(RemoveMappings(*partition, 0, 4096)),
        StatusOf(HarvestReferenceChange(*partition, 0, 4096, 1, Clear::kYes))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("create it with track_guest_pages"));
  }
}

TEST(GuestPages, BadRangesNameTheField) {
  const auto partition = MakePartition("order=18,track-guest-pages=true");
  const auto expect = [](const absl::Status& status, const char* field) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  };
  expect(StatusOf(TakeDirtyPages(*partition, 1, 1, Take::kYes)), "start:");
  expect(StatusOf(ListMappings(*partition, 0x10800, 1)), "page:");
  const auto both = [&](uint64_t base, uint64_t size, const char* field) {
    expect(StatusOf(RemoveMappings(*partition, base, size)), field);
    expect(StatusOf(HarvestReferenceChange(*partition, base, size, 1, Clear::kYes)), field);
  };
  both(0x10, 4096, "base:");
  both(0, 4097, "size:");
  both(0, 0, "size:");
  both(uint64_t{1} << 60, 4096, "size:");
  both(4096, uint64_t{1} << 60, "size:");
  both(~uint64_t{4095}, 4096, "size:");
}

TEST(GuestPages, AddressesBeyondTheRamHaveNoPages) {
  const auto partition = MakePartition("order=18,ram=0:1G,track-guest-pages=true");
  Enter(*partition, 0, 1, (uint64_t{1} << 31) | kRc | 0x12);
  EXPECT_THAT(TakeDirtyPages(*partition, 0, 1, Take::kYes)->runs, IsEmpty());
  EXPECT_THAT(TakeDirtyPages(*partition, ~uint64_t{4095}, 1, Take::kYes)->runs, IsEmpty());
  EXPECT_THAT(ListMappings(*partition, uint64_t{1} << 31, 1)->mappings, IsEmpty());
  EXPECT_EQ(RemoveMappings(*partition, uint64_t{1} << 31, 4096)->removed, 0u);
  EXPECT_THAT(HarvestReferenceChange(*partition, 0, uint64_t{1} << 40, 1, Clear::kYes)->runs,
              IsEmpty());
}

// The entries that a resize moves are no new changes, and what was changed before it is not lost.
TEST(GuestPages, TrackingGoesOnAcrossAResize) {
  const auto partition =
      MakePartition("order=18,max-order=19,ram=0:1G,resize=manual,track-guest-pages=true");
  Enter(*partition, 0, 0x11, 0x5000 | kRc | 0x12);
  EXPECT_THAT(TakeDirtyPages(*partition, 0, 10, Take::kYes)->runs,
              ElementsAre(PageRun{0x5000, 0x1000}));
  Enter(*partition, 1, 0x1001, 0x6000 | kRc | 0x12);
  Call(*partition, kHResizeHptPrepare, {0, 19});
  ASSERT_TRUE(partition->FinishResizePreparation(19, kHSuccess).ok());
  ASSERT_EQ(Call(*partition, kHResizeHptCommit, {0, 19}).return_code, kHSuccess);
  EXPECT_THAT(TakeDirtyPages(*partition, 0, 10, Take::kYes)->runs,
              ElementsAre(PageRun{0x6000, 0x1000}));
  EXPECT_EQ(ListMappings(*partition, 0x5000, 10)->mappings.size(), 1u);
  EXPECT_THAT(ListMappings(*partition, 0x6000, 10)->mappings, IsEmpty());
}

TEST(GuestPages, AResetKeepsTheDirtyLog) {
  const auto partition = MakePartition("order=18,ram=0:1G,track-guest-pages=true");
  for (const auto order : {std::optional<int>(), std::optional<int>(20)}) {
    Enter(*partition, 0, 1, 0x5000 | kRc | 0x12);
    ASSERT_TRUE(partition->Reset(order).ok());
    EXPECT_THAT(ListMappings(*partition, 0x5000, 10)->mappings, IsEmpty());
    EXPECT_THAT(TakeDirtyPages(*partition, 0, 10, Take::kYes)->runs,
                ElementsAre(PageRun{0x5000, 0x1000}));
  }
  EXPECT_EQ(partition->Reset(36).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(partition->order(), 20);
}

TEST(GuestPages, LongAnswersComeInPieces) {
  const auto partition = MakePartition("order=18,ram=0:32G,track-guest-pages=true");
  Enter(*partition, 0, 0x5, 0x3000 | kRc | 0x12);  // 16 GB, C set: 2^22 pages
  uint64_t bytes = 0;
  uint64_t start = 0;
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    const auto answer = TakeDirtyPages(*partition, start, 1, Take::kYes);
    for (const PageRun& run : answer->runs) bytes += run.bytes;
    more = answer->more;
    EXPECT_TRUE(!more || answer->next > start);
    start = answer->next;
  }
  EXPECT_EQ(bytes, uint64_t{16} << 30);
  EXPECT_EQ(pieces, 4);
  const auto removed = RemoveMappings(*partition, 0, uint64_t{32} << 30);
  EXPECT_EQ(removed->removed, 1u);
  EXPECT_TRUE(removed->more);
  EXPECT_EQ(removed->next, uint64_t{16} << 30);
}

// A list of as many entries as the table has, which removals take apart again.
TEST(GuestPages, AllEntriesOfATableMapOnePage) {
  const auto partition = MakePartition("order=18,ram=0:1G,track-guest-pages=true");
  constexpr uint64_t kEntries = 0x4000;
  for (uint64_t ptex = 0; ptex < kEntries; ++ptex) {
    Enter(*partition, ptex, ptex << 12 | 1, 0x5012);
  }
  const auto some = ListMappings(*partition, 0x5000, 100);
  EXPECT_EQ(some->mappings.size(), 100u);
  EXPECT_TRUE(some->more);
  EXPECT_EQ(ListMappings(*partition, 0x5000, kEntries)->mappings.size(), kEntries);
  EXPECT_GE(partition->GetStatistics().tracking_bytes, 8 * kEntries);
  EXPECT_EQ(RemoveMappings(*partition, 0x4000, 0x4000)->removed, kEntries);
  EXPECT_EQ(partition->GetStatistics().valid, 0u);
}

}  // namespace
}  // namespace papr::hcall
