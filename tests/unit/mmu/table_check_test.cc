#include "mmu/table_check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mmu/virtual_address.h"
#include "tests/unit/mmu/worked_examples.h"

namespace papr::mmu {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class TableCheckTest : public testing::Test {
 protected:
  TableCheckReport Check(size_t max_findings = 100) {
    return CheckTable(*table_, PageSizeTable::Power(), max_findings);
  }
  void Put(uint64_t ptex, const Hpte& hpte) { ASSERT_TRUE(table_->InsertAt(ptex, hpte)); }

  // One fault of the kind, at `ptex`.
  void ExpectOnly(TableFault fault, uint64_t ptex, uint64_t other = 0) {
    const TableCheckReport report = Check();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.faults, 1u);
    EXPECT_EQ(report.findings[0].fault, fault) << TableFaultName(report.findings[0].fault);
    EXPECT_EQ(report.findings[0].ptex, ptex);
    EXPECT_EQ(report.findings[0].other, other);
    EXPECT_EQ(report.findings[0].hpte, table_->Read(ptex));
  }

  std::unique_ptr<HashPageTable> table_ = *HashPageTable::Create(24);
};

TEST_F(TableCheckTest, AnEmptyTableIsSound) {
  const TableCheckReport report = Check();
  EXPECT_EQ(report.valid, 0u);
  EXPECT_EQ(report.faults, 0u);
  EXPECT_THAT(report.findings, IsEmpty());
}

// Every worked example, in the primary and, of another page, in the secondary group.
TEST_F(TableCheckTest, ASoundTableHasNoFaults) {
  uint64_t valid = 0;
  for (const WorkedExample& example : kWorkedExamples) {
    const uint64_t group = example.hash & table_->hash_mask();
    if (*example.id == 'H') continue;  // below
    ASSERT_TRUE(table_->InsertFirstFree(group, example.hpte).has_value());
    ++valid;
  }
  // The 64K page in a 4K segment: another page than the 64K page of the same AVPN.
  const WorkedExample& h = kWorkedExamples[7];
  ASSERT_TRUE(table_
                  ->InsertFirstFree(~h.hash & table_->hash_mask(),
                                    {h.hpte.v | kVSecondary, h.hpte.r | kRReferenced | kRChanged})
                  .has_value());
  const TableCheckReport report = Check();
  EXPECT_EQ(report.valid, valid + 1);
  EXPECT_EQ(report.faults, 0u);
  for (const TableFinding& finding : report.findings) {
    ADD_FAILURE() << TableFaultName(finding.fault) << " at " << std::hex << finding.ptex;
  }
}

TEST_F(TableCheckTest, Duplicate) {
  const WorkedExample& a = kWorkedExamples[0];
  Put(a.primary_ptex + 1, a.hpte);
  Put(a.primary_ptex + 6, a.hpte);
  ExpectOnly(TableFault::kDuplicate, a.primary_ptex + 6, a.primary_ptex + 1);
}

TEST_F(TableCheckTest, DuplicateInTheOtherGroup) {
  const WorkedExample& a = kWorkedExamples[0];
  Put(a.primary_ptex, a.hpte);
  Put(a.secondary_ptex + 7, {a.hpte.v | kVSecondary, a.hpte.r});
  // Entries are looked at in ascending order: the secondary one comes first here.
  ASSERT_LT(a.secondary_ptex, a.primary_ptex);
  ExpectOnly(TableFault::kDuplicate, a.primary_ptex, a.secondary_ptex + 7);
}

TEST_F(TableCheckTest, WrongPteg) {
  const WorkedExample& d = kWorkedExamples[3];
  // A 4K page has 11 free hash bits: only a group that differs in the others is wrong.
  Put(d.primary_ptex ^ (uint64_t{1} << (11 + 3)), d.hpte);
  ExpectOnly(TableFault::kWrongPteg, d.primary_ptex ^ (uint64_t{1} << 14));
}

TEST_F(TableCheckTest, WrongHashBit) {
  const WorkedExample& c = kWorkedExamples[2];
  Put(c.primary_ptex, {c.hpte.v | kVSecondary, c.hpte.r});
  ExpectOnly(TableFault::kWrongPteg, c.primary_ptex);
}

TEST_F(TableCheckTest, BadPageSize) {
  const WorkedExample& b = kWorkedExamples[1];
  Put(b.primary_ptex, {b.hpte.v, (b.hpte.r & ~kRLp) | 0x2000});
  ExpectOnly(TableFault::kBadPageSize, b.primary_ptex);
}

TEST_F(TableCheckTest, BadSegmentSize) {
  const WorkedExample& a = kWorkedExamples[0];
  Put(a.primary_ptex, {a.hpte.v | kVSegmentSizeReserved, a.hpte.r});
  ExpectOnly(TableFault::kBadSegmentSize, a.primary_ptex);
}

TEST_F(TableCheckTest, ChangedNotReferenced) {
  const WorkedExample& a = kWorkedExamples[0];
  Put(a.primary_ptex + 2, {a.hpte.v, a.hpte.r | kRChanged});
  ExpectOnly(TableFault::kChangedNotReferenced, a.primary_ptex + 2);
}

TEST_F(TableCheckTest, UnalignedReal) {
  const WorkedExample& c = kWorkedExamples[2];
  Put(c.primary_ptex, {c.hpte.v, c.hpte.r | 0x100000});
  ExpectOnly(TableFault::kUnalignedReal, c.primary_ptex);
}

TEST_F(TableCheckTest, AvpnLowBits) {
  const WorkedExample& c = kWorkedExamples[2];
  Put(c.primary_ptex, {c.hpte.v | 0x80, c.hpte.r});
  ExpectOnly(TableFault::kAvpnLowBits, c.primary_ptex);
}

TEST_F(TableCheckTest, InvalidEntriesDoNotCount) {
  const WorkedExample& b = kWorkedExamples[1];
  Put(b.primary_ptex, {(b.hpte.v | kVSegmentSizeReserved) & ~kVValid, kRChanged});
  const TableCheckReport report = Check();
  EXPECT_EQ(report.valid, 0u);
  EXPECT_EQ(report.faults, 0u);
}

TEST_F(TableCheckTest, FaultsBeyondTheLimitAreCounted) {
  const WorkedExample& a = kWorkedExamples[0];
  for (uint64_t slot = 0; slot < 8; ++slot) Put(a.primary_ptex + slot, a.hpte);
  const TableCheckReport report = Check(3);
  EXPECT_EQ(report.valid, 8u);
  EXPECT_EQ(report.faults, 7u);
  ASSERT_THAT(report.findings, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(report.findings[i].ptex, a.primary_ptex + i + 1);
    EXPECT_EQ(report.findings[i].other, a.primary_ptex);
  }
  EXPECT_EQ(Check(0).faults, 7u);
  EXPECT_THAT(Check(0).findings, IsEmpty());
}

TEST_F(TableCheckTest, OneEntryMayHaveSeveralFaults) {
  const WorkedExample& c = kWorkedExamples[2];
  Put(c.primary_ptex, {c.hpte.v | 0x80, c.hpte.r | 0x100000 | kRChanged});
  EXPECT_EQ(Check().faults, 3u);
}

TEST(TableFaultName, EveryFaultHasItsOwn) {
  std::vector<std::string> names;
  for (const TableFault fault :
       {TableFault::kDuplicate, TableFault::kWrongPteg, TableFault::kBadPageSize,
        TableFault::kBadSegmentSize, TableFault::kChangedNotReferenced, TableFault::kUnalignedReal,
        TableFault::kAvpnLowBits}) {
    const std::string name(TableFaultName(fault));
    EXPECT_FALSE(name.empty());
    EXPECT_THAT(names, testing::Not(testing::Contains(name)));
    names.push_back(name);
  }
}

}  // namespace
}  // namespace papr::mmu
