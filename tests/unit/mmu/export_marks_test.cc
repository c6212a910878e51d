#include "mmu/export_marks.h"

#include <memory>

#include "gtest/gtest.h"
#include "mmu/hash_page_table.h"

namespace papr::mmu {
namespace {

constexpr Hpte kHpte = {0x1f81, 0xfff012};
constexpr uint64_t kPtex = 0x3ff0;

class ExportMarksTest : public testing::Test {
 protected:
  ExportMarksTest()
      : table_(*HashPageTable::Create(18)), marks_(*ExportMarks::Create(table_->entry_count())) {
    table_->SetObserver(HashPageTable::ObserverKind::kExport, marks_.get());
  }

  // The entry, reported as it is.
  void Have(const Hpte& hpte) {
    auto entry = table_->Lock(kPtex);
    entry.Store(hpte);
    marks_->Clear(kPtex);
  }
  void Walk(uint64_t bits) { table_->Lock(kPtex).SetReferenceChange(bits); }
  void Forget(uint64_t bits) { table_->Lock(kPtex).ClearReferenceChange(bits); }
  bool dirty() const { return marks_->dirty(kPtex); }

  const std::unique_ptr<HashPageTable> table_;
  const std::unique_ptr<ExportMarks> marks_;
};

TEST_F(ExportMarksTest, NothingIsDirtyAtFirst) {
  EXPECT_EQ(marks_->NextDirty(0, 0x4000), 0x4000u);
  EXPECT_EQ(marks_->NextDirty(5, 5), 5u);
}

TEST_F(ExportMarksTest, AStoreMarksAlsoIfNothingChanges) {
  EXPECT_TRUE(table_->InsertAt(kPtex, kHpte));
  EXPECT_TRUE(dirty());
  Have(kHpte);
  EXPECT_FALSE(dirty());
  table_->Lock(kPtex).Store(kHpte);
  EXPECT_TRUE(dirty());
  EXPECT_EQ(marks_->NextDirty(0, 0x4000), kPtex);
  EXPECT_EQ(marks_->NextDirty(0, kPtex), kPtex);
  EXPECT_EQ(marks_->NextDirty(kPtex + 1, 0x4000), 0x4000u);
}

TEST_F(ExportMarksTest, AWalkMarksOnlyWhatItSets) {
  Have({kHpte.v, kHpte.r | kRReferenced});
  Walk(kRReferenced);
  EXPECT_FALSE(dirty());
  Walk(kRReferenced | kRChanged);
  EXPECT_TRUE(dirty());
}

// hpt-format 8.3: the word is again the one reported.
TEST_F(ExportMarksTest, ClearingWhatOnlyAWalkSetLeavesNoMark) {
  Have(kHpte);
  Walk(kRChanged);
  Forget(kRChanged);
  EXPECT_FALSE(dirty());
  Walk(kRReferenced | kRChanged);
  Forget(kRChanged);
  EXPECT_TRUE(dirty());  // for the reference bit
  Forget(kRReferenced);
  EXPECT_FALSE(dirty());
}

TEST_F(ExportMarksTest, ClearingWhatWasReportedMarks) {
  Have({kHpte.v, kHpte.r | kRChanged});
  Walk(kRChanged);
  Forget(kRChanged);
  EXPECT_TRUE(dirty());
  // Also after the walk has set it again, and that is cleared: R differs from what was reported.
  Walk(kRChanged);
  Forget(kRChanged);
  EXPECT_TRUE(dirty());
}

TEST_F(ExportMarksTest, AReportTakesOverWhatAWalkSet) {
  Have(kHpte);
  Walk(kRChanged);
  Have(table_->Read(kPtex));
  Forget(kRChanged);
  EXPECT_TRUE(dirty());
}

TEST_F(ExportMarksTest, AStoreTakesOverWhatAWalkSet) {
  Have(kHpte);
  Walk(kRChanged);
  table_->Lock(kPtex).Store({kHpte.v, kHpte.r | kRChanged | 1});
  Forget(kRChanged);
  EXPECT_TRUE(dirty());
}

TEST_F(ExportMarksTest, AClearedTableHasNoMarks) {
  EXPECT_TRUE(table_->InsertAt(kPtex, kHpte));
  table_->Clear();
  EXPECT_FALSE(dirty());
}

TEST(ExportMarks, ALargeTableCostsOnlyWhatIsMarked) {
  constexpr uint64_t kEntries = uint64_t{1} << 32;  // order 36, the largest that is exported
  auto marks = ExportMarks::Create(kEntries);
  ASSERT_TRUE(marks.ok()) << marks.status();
  (*marks)->OnStore(kEntries - 1, {}, {});
  EXPECT_TRUE((*marks)->dirty(kEntries - 1));
}

}  // namespace
}  // namespace papr::mmu
