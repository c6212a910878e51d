#include "mmu/reverse_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "mmu/reference_harvest.h"

namespace papr::mmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Clear = ReferenceHarvest::Clear;
using Take = DirtyLog::Take;

constexpr uint64_t kGigabyte = uint64_t{1} << 30;
constexpr uint64_t kBits = kRCoherent;
constexpr uint64_t kR = kRReferenced;
constexpr uint64_t kRc = kRReferenced | kRChanged;

// Entries by the size of their page (base pages of 4 KB, but for 64 KB and 16 GB).
Hpte Small(uint64_t address, uint64_t rc = 0) {
  return {kVValid, EncodeR(address, k4K, 0, kBits | rc)};
}
Hpte Medium(uint64_t address, uint64_t rc = 0) {
  return {kVValid | kVLarge, EncodeR(address, k64K, 0x1, kBits | rc)};
}
Hpte Large(uint64_t address, uint64_t rc = 0) {
  return {kVValid | kVLarge, EncodeR(address, k16M, 0x38, kBits | rc)};
}
constexpr Hpte kGone = {0, 0};

class ReverseMapTest : public ::testing::Test {
 protected:
  ReverseMapTest() {
    // A part of odd size, so that large pages run past its end, and one behind a hole.
    map_ = *ReverseMap::Create(
        GuestRam({{0, 24 * (uint64_t{1} << 20) + 0x3000}, {kGigabyte, 16 << 20}}),
        PageSizeTable::Power());
    EXPECT_TRUE(map_->Follow(table_.get()).ok());
  }
  ~ReverseMapTest() override { EXPECT_EQ(map_->CheckLists(), absl::OkStatus()); }

  void Store(uint64_t ptex, const Hpte& hpte) {
    if (!table_->InsertAt(ptex, hpte)) table_->Lock(ptex).Store(hpte);
  }
  void Walk(uint64_t ptex, uint64_t bits) { table_->Lock(ptex).SetReferenceChange(bits); }
  void Forget(uint64_t ptex, uint64_t bits) { table_->Lock(ptex).ClearReferenceChange(bits); }

  uint64_t Page(uint64_t address) { return *map_->ram().PageAt(address); }
  std::vector<uint64_t> Members(uint64_t address) {
    std::vector<uint64_t> members;
    map_->ForEachEntry(Page(address), [&](auto& entry, const auto&) {
      members.push_back(entry.ptex());
      return true;
    });
    return members;
  }
  // Addresses of the pages that are in the log, which are taken from it.
  std::vector<uint64_t> TakeDirty() {
    std::vector<uint64_t> addresses;
    DirtyLog& log = map_->dirty_log();
    const uint64_t pages = map_->ram().pages();
    for (uint64_t page = log.NextMarked(0, pages); page < pages; page = log.NextMarked(0, pages)) {
      const uint64_t count = log.TakeRun(page, pages, Take::kYes);
      map_->ForEachHead(page, count, [&](uint64_t head) { map_->Harvest(head, kRChanged); });
      for (uint64_t i = 0; i < count; ++i) addresses.push_back(map_->ram().AddressOf(page + i));
    }
    return addresses;
  }
  std::vector<ReferenceRun> HarvestRange(uint64_t base, uint64_t end, Clear clear = Clear::kYes) {
    std::vector<ReferenceRun> runs;
    ReferenceHarvest harvest(*map_, map_->ram().FirstPageFrom(base), clear);
    harvest.Advance(map_->ram().FirstPageFrom(end), 1000, runs);
    harvest.Finish();
    return runs;
  }
  std::vector<ReferenceRun> HarvestAll(Clear clear = Clear::kYes) {
    return HarvestRange(0, 2 * kGigabyte, clear);
  }

  std::unique_ptr<HashPageTable> table_ = *HashPageTable::Create(18);
  std::unique_ptr<ReverseMap> map_;
};

TEST_F(ReverseMapTest, EntriesOfAPageAreOnItsList) {
  EXPECT_THAT(Members(0x5000), IsEmpty());
  for (const uint64_t ptex : {7, 3, 100}) Store(ptex, Small(0x5000));
  Store(8, Small(0x6000));
  EXPECT_THAT(Members(0x5000), UnorderedElementsAre(7, 3, 100));
  EXPECT_THAT(Members(0x6000), ElementsAre(8));
  Store(7, kGone);
  EXPECT_THAT(Members(0x5000), UnorderedElementsAre(3, 100));
  EXPECT_EQ(map_->CheckLists(), absl::OkStatus());
  Store(3, Small(0x6000));  // another page in one step
  EXPECT_THAT(Members(0x6000), UnorderedElementsAre(8, 3));
  Store(100, kGone);
  EXPECT_THAT(Members(0x5000), IsEmpty());
}

TEST_F(ReverseMapTest, LargePagesAreOnTheListOfTheirFirstPage) {
  Store(1, Small(0));
  Store(2, Medium(0));
  Store(3, Large(0));
  Store(4, {kVValid | kVLarge, EncodeR(0, k16G, 0x3, kBits)});
  Store(5, Medium(0x30000));
  EXPECT_THAT(Members(0), UnorderedElementsAre(1, 2, 3, 4));
  std::vector<uint64_t> heads;
  const auto collect = [&](uint64_t head) { heads.push_back(map_->ram().AddressOf(head)); };
  map_->ForEachHead(Page(0x34000), 1, collect);
  EXPECT_THAT(heads, ElementsAre(0x30000, 0));
  heads.clear();
  map_->ForEachHead(Page(0x2f000), 3, collect);
  EXPECT_THAT(heads, ElementsAre(0, 0x30000));
  heads.clear();
  map_->ForEachHead(Page(kGigabyte), 1, collect);  // only the page of 16 GB reaches so far
  EXPECT_THAT(heads, ElementsAre(0));
}

TEST_F(ReverseMapTest, WhatMapsNoRamIsNotTracked) {
  Store(1, Small(0x10000000));                    // a hole
  Store(2, {kVValid | kVLarge, 0x2000 | kBits});  // an LP that does not exist
  Store(3, Large(0x2000000, kRc));                // begins behind the first part
  Walk(1, kRc);
  Walk(2, kRc);
  Forget(3, kRChanged);
  EXPECT_THAT(TakeDirty(), IsEmpty());
  EXPECT_THAT(HarvestAll(), IsEmpty());
  EXPECT_EQ(map_->CheckLists(), absl::OkStatus());
}

TEST_F(ReverseMapTest, AChangeIsReportedOnceUntilItHappensAgain) {
  Store(1, Small(0x5000));
  Walk(1, kR);
  EXPECT_THAT(TakeDirty(), IsEmpty());
  Walk(1, kRc);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_THAT(TakeDirty(), IsEmpty());
  EXPECT_EQ(table_->Read(1).r & kRc, kRc) << "the guest's view stays";
  Walk(1, kRc);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  Walk(1, kR);
  EXPECT_THAT(TakeDirty(), IsEmpty());
}

// Hardware would not report stores through an entry whose C is set from the start.
TEST_F(ReverseMapTest, AnEntryThatComesWithCCounts) {
  Store(1, Small(0x5000, kRc));
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_THAT(TakeDirty(), IsEmpty());
  Walk(1, kRChanged);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
}

TEST_F(ReverseMapTest, AChangeOutlivesItsEntry) {
  Store(1, Small(0x5000));
  Walk(1, kRc);
  Store(1, kGone);
  Store(2, Small(0x6000));
  Walk(2, kRc);
  Forget(2, kRChanged);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000, 0x6000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x2000, true, true}));
}

TEST_F(ReverseMapTest, AClearedChangeThatHappensAgainIsReported) {
  Store(1, Small(0x5000));
  Walk(1, kRc);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  Forget(1, kRChanged);
  EXPECT_THAT(TakeDirty(), IsEmpty());
  Walk(1, kRChanged);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
}

TEST_F(ReverseMapTest, ALargePageMakesAllItsPagesDirtyAsFarAsTheyAreRam) {
  Store(1, Large(16 << 20));
  Walk(1, kRc);
  EXPECT_EQ(TakeDirty().size(), (uint64_t{8} << 20 | 0x3000) / 0x1000);
  EXPECT_THAT(TakeDirty(), IsEmpty());
  Walk(1, kRc);
  EXPECT_EQ(TakeDirty().back(), (uint64_t{24} << 20) + 0x2000);
}

TEST_F(ReverseMapTest, ProtectionChangesNothing) {
  Store(1, Small(0x5000, kRc));
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, true}));
  Store(1, {kVValid, table_->Read(1).r | kRPp});
  EXPECT_THAT(TakeDirty(), IsEmpty());
  EXPECT_THAT(HarvestAll(), IsEmpty());
}

TEST_F(ReverseMapTest, AStoreOverAValidEntryMaySetAndClearBits) {
  Store(1, Small(0x5000));
  Store(1, Small(0x5000, kRc));
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  Store(1, Small(0x5000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, true}));
  Store(1, Small(0x7000, kRc));
  EXPECT_THAT(TakeDirty(), ElementsAre(0x7000));
  Store(1, Large(0, kR));
  EXPECT_THAT(TakeDirty(), IsEmpty());
  EXPECT_EQ(Members(0), std::vector<uint64_t>{1});
}

TEST_F(ReverseMapTest, HarvestTellsWhatIsNew) {
  Store(1, Small(0x5000, kR));
  Store(2, Small(0x6000));
  EXPECT_THAT(HarvestAll(Clear::kNo), ElementsAre(ReferenceRun{0x5000, 0x1000, true, false}));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, false}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
  EXPECT_EQ(table_->Read(1).r & kRc, kR);
  Walk(1, kR);
  Walk(2, kRc);
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, false},
                                        ReferenceRun{0x6000, 0x1000, true, true}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
}

TEST_F(ReverseMapTest, HarvestAndDirtyLogDoNotStealFromEachOther) {
  Store(1, Small(0x5000));
  Walk(1, kRc);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, true}));
  Walk(1, kRc);
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, true}));
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
}

// What is told of a part of a large page is cleared with the page's end.
TEST_F(ReverseMapTest, HarvestOfPartsOfALargePage) {
  Store(1, Medium(0x20000, kRc));
  Store(2, Small(0x25000, kR));
  const ReferenceRun first = {0x20000, 0x8000, true, true};
  EXPECT_THAT(HarvestRange(0, 0x28000), ElementsAre(first));
  EXPECT_THAT(HarvestRange(0, 0x28000), ElementsAre(first));
  EXPECT_THAT(HarvestRange(0x28000, 0x30000),
              ElementsAre(ReferenceRun{0x28000, 0x8000, true, true}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
}

// A page of 16 MB with pages of 4 KB beside it, one of which is at the same address.
TEST_F(ReverseMapTest, HarvestKeepsSizesApart) {
  Store(1, Large(0, kR));
  Store(2, Small(0));
  Walk(2, kRc);
  Store(2, kGone);
  EXPECT_THAT(HarvestRange(0, 0x4000), ElementsAre(ReferenceRun{0, 0x1000, true, true},
                                                   ReferenceRun{0x1000, 0x3000, true, false}));
  EXPECT_THAT(HarvestRange(0, 16 << 20), ElementsAre(ReferenceRun{0, 16 << 20, true, false}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
}

TEST_F(ReverseMapTest, AHarvestThatIsCutGoesOn) {
  Store(1, Large(0, kR));
  Store(2, Small(0x5000, kRc));
  std::vector<ReferenceRun> runs;
  ReferenceHarvest harvest(*map_, 0, Clear::kYes);
  harvest.Advance(map_->ram().pages(), 2, runs);
  harvest.Finish();
  EXPECT_THAT(runs, ElementsAre(ReferenceRun{0, 0x5000, true, false},
                                ReferenceRun{0x5000, 0x1000, true, true}));
  EXPECT_EQ(harvest.next(), 6u);
  EXPECT_THAT(HarvestRange(0x6000, 2 * kGigabyte),
              ElementsAre(ReferenceRun{0x6000, (16 << 20) - 0x6000, true, false}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
}

TEST_F(ReverseMapTest, ClearingTheTableKeepsWhatWasChanged) {
  Store(1, Small(0x5000, kRc));
  Store(2, Large(0, kR));
  table_->Clear();
  EXPECT_THAT(Members(0x5000), IsEmpty());
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_EQ(HarvestAll().size(), 3u);
  Store(1, Small(0x5000));
  EXPECT_THAT(Members(0x5000), ElementsAre(1));
}

// A moved entry is no new change.
TEST_F(ReverseMapTest, FollowsAnotherTable) {
  Store(1, Small(0x5000, kRc));
  Store(2, Small(0x6000, kRc));
  auto next = *HashPageTable::Create(19);
  ASSERT_TRUE(next->InsertAt(0x7001, Small(0x5000, kRc)));
  ASSERT_TRUE(map_->Follow(next.get()).ok());
  table_ = std::move(next);
  EXPECT_THAT(Members(0x5000), ElementsAre(0x7001));
  EXPECT_THAT(Members(0x6000), IsEmpty());
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000, 0x6000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x2000, true, true}));
  EXPECT_THAT(HarvestAll(), IsEmpty());
  Walk(0x7001, kRc);
  EXPECT_THAT(TakeDirty(), ElementsAre(0x5000));
  EXPECT_THAT(HarvestAll(), ElementsAre(ReferenceRun{0x5000, 0x1000, true, true}));
}

// Of a full table: 8 bytes an entry, 8 bytes a page that is mapped, a bit a page of RAM.
TEST(ReverseMap, MemoryOfAFullTable) {
  constexpr int kOrder = 22;  // 2^18 entries
  constexpr uint64_t kPages = uint64_t{1} << 16;
  const auto table = *HashPageTable::Create(kOrder);
  const auto map =
      *ReverseMap::Create(GuestRam({{0, kPages << kGuestPageShift}}), PageSizeTable::Power());
  ASSERT_TRUE(map->Follow(table.get()).ok());
  EXPECT_LT(map->resident_bytes(), uint64_t{1} << 16);
  for (uint64_t ptex = 0; ptex < table->entry_count(); ++ptex) {
    ASSERT_TRUE(table->InsertAt(ptex, Small((ptex % kPages) << kGuestPageShift, kRc)));
  }
  constexpr uint64_t kSlack = uint64_t{64} << 10;
  EXPECT_LE(map->resident_bytes(),
            8 * table->entry_count() + 8 * kPages + kPages / 8 + kPages / 512 + kSlack);
  EXPECT_EQ(map->CheckLists(), absl::OkStatus());
}

TEST(ReverseMap, TooManyPageSizesAreRefused) {
  EXPECT_THAT(ActualPageSizes(PageSizeTable::Power()), ElementsAre(12, 16, 24, 34));
  std::vector<SegmentPageSize> segments = {{k4K, 0, {}}};
  for (int shift = 20; shift < 31; ++shift) {
    segments.front().encodings.push_back({shift, static_cast<uint32_t>(shift)});
  }
  const PageSizeTable twelve = *PageSizeTable::Create(segments, PageSizeTable::Match::kLpField);
  EXPECT_EQ(ReverseMap::Create(GuestRam({{0, kGigabyte}}), twelve).status().code(),
            absl::StatusCode::kInvalidArgument);
  segments.front().encodings.pop_back();
  const PageSizeTable eleven = *PageSizeTable::Create(segments, PageSizeTable::Match::kLpField);
  const auto table = *HashPageTable::Create(18);
  const auto map = *ReverseMap::Create(GuestRam({{0, kGigabyte}}), eleven);
  ASSERT_TRUE(map->Follow(table.get()).ok());
  // The largest of them has its bits beside the others'.
  ASSERT_TRUE(table->InsertAt(3, {kVValid | kVLarge, EncodeR(0, 29, 29, kRc)}));
  map->Harvest(0, kRc);
  for (size_t size = 0; size < 11; ++size) {
    EXPECT_EQ(map->Harvested(0, size), size == 10 ? kRc : 0) << size;
  }
  EXPECT_EQ(map->CheckLists(), absl::OkStatus());
}

}  // namespace
}  // namespace papr::mmu
