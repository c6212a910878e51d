#include "hcall/htab_export.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/hcall/htab_test_util.h"

namespace papr::hcall {
namespace {

// The entries of hpt-format 8.5.
constexpr mmu::Hpte kJ = {0x0007ffffffffff85, 0x0000000003038012};
constexpr mmu::Hpte kL = {0x0000000000001f81, 0x0000000000fff012};
constexpr uint64_t kPtexJ = 0x918;
constexpr uint64_t kPtexL = 0x3ff0;

constexpr std::string_view kExample =
    "0000000000001809"
    "180900000100d7360007ffffffffff850000000003038012"
    "f03f000001000f000000000000001f810000000000fff012";
constexpr std::string_view kExampleOfKvm =
    "0000000000001809"
    "180900000100d7360007ffffffffffc50000000003038012"
    "f03f000001000f000000000000001fc10000000000fff012";

class HtabExportTest : public testing::Test {
 protected:
  void EnterExample() {
    ASSERT_EQ(EnterExact(*partition_, kPtexJ, kJ), kHSuccess);
    ASSERT_EQ(EnterExact(*partition_, kPtexL, kL), kHSuccess);
  }

  std::unique_ptr<Partition> partition_ = MakePartition("order=18,ram=0:1G,profile=kvm-hv");
};

// hpt-format 8.5 and 10.16.
TEST_F(HtabExportTest, TheExampleByteForByte) {
  EnterExample();
  const auto from = OpenExport(*partition_);
  EXPECT_EQ(ReadOnceHex(*from, 4096), kExample);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
  ASSERT_EQ(Call(*partition_, kHRemove, {0, kPtexJ, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "1809000000000100");
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
}

TEST_F(HtabExportTest, KvmShowsTheLockBit) {
  EnterExample();
  EXPECT_EQ(ReadPassHex(*OpenExport(*partition_, {.kvm_exact = true})), kExampleOfKvm);
}

TEST_F(HtabExportTest, EveryReadIsTheSameWhateverTheBuffer) {
  EnterExample();
  for (const size_t count : {25, 26, 33, 40, 41, 56, 57, 1 << 20}) {
    const auto from = OpenExport(*partition_);
    EXPECT_EQ(ReadPassHex(*from, count), kExample) << count;
    EXPECT_EQ(ReadOnceHex(*from, count), "") << count;
  }
}

// The wrong behaviour: a stream header in the byte order of the host (case G11).
TEST_F(HtabExportTest, ABigEndianHeaderIsTheSameOnEveryHost) {
  constexpr mmu::Hpte kA = {0x0000000123456001, 0x0000000001234012};
  ASSERT_EQ(EnterExact(*partition_, 0x3fe8, kA), kHSuccess);
  ASSERT_EQ(EnterExact(*partition_, 0x3feb, kA), kHSuccess);
  const auto from =
      OpenExport(*partition_, {.start_index = 0x3fe8, .header_order = std::endian::big});
  EXPECT_EQ(ReadPassHex(*from).substr(0, 48), "00003fe80001000200000001234560010000000001234012");
}

// hpt-format 10.17.
TEST_F(HtabExportTest, ReadsOf24BytesGetNowhereAndOf25OneEntry) {
  EnterExample();
  const auto from = OpenExport(*partition_);
  EXPECT_EQ(ReadOnceHex(*from, 24), "");
  EXPECT_EQ(ReadOnceHex(*from, 0), "");
  EXPECT_EQ(ReadOnceHex(*from, 25), "0000000000001809");
  EXPECT_EQ(ReadOnceHex(*from, 25), "180900000100d7360007ffffffffff850000000003038012");
  EXPECT_EQ(ReadOnceHex(*from, 24), "");
  EXPECT_EQ(ReadOnceHex(*from, 25), "f03f000001000f000000000000001f810000000000fff012");
}

// hpt-format 10.18.
TEST_F(HtabExportTest, ALongRunOfInvalidEntriesTakesSeveralRecords) {
  const auto partition = MakePartition("order=21,ram=0:1G");
  EXPECT_EQ(ReadPassHex(*OpenExport(*partition)),
            "000000000000ffff"
            "ffff00000000ffff"
            "feff010000000200");
}

TEST_F(HtabExportTest, ALongRunOfValidEntriesTakesSeveralRecords) {
  const auto partition = MakePartition("order=21,ram=0:1G");
  for (uint64_t ptex = 0; ptex < 0x10001; ++ptex) {
    ASSERT_EQ(EnterExact(*partition, ptex, kL), kHSuccess);
  }
  const std::string all = ReadPass(*OpenExport(*partition), size_t{4} << 20);
  EXPECT_EQ(absl::BytesToHexString(all.substr(0, 8)), "00000000ffff0000");
  EXPECT_EQ(absl::BytesToHexString(all.substr(8 + 0xffff * 16, 8)), "ffff00000200ffff");
}

// hpt-format 10.19.
TEST_F(HtabExportTest, EntriesThatAreNotBoltedMayCountAsInvalid) {
  EnterExample();
  ASSERT_EQ(EnterExact(*partition_, 0x10, {kL.v | mmu::kVBolted, kL.r}), kHSuccess);
  const auto from = OpenExport(*partition_, {.bolted_only = true});
  EXPECT_EQ(ReadPassHex(*from),
            "0000000000001000"
            "100000000100ef3f0000000000001f910000000000fff012");
  ASSERT_EQ(Call(*partition_, kHProtect, {1, kPtexJ, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadPassHex(*from), "1809000000000100");
}

TEST_F(HtabExportTest, TheFirstPassBeginsWhereItIsTold) {
  EnterExample();
  const auto from = OpenExport(*partition_, {.start_index = kPtexJ + 1});
  EXPECT_EQ(ReadPassHex(*from),
            "190900000000d736"
            "f03f000001000f000000000000001f810000000000fff012");
  // Later passes begin at 0.
  ASSERT_EQ(Call(*partition_, kHRemove, {0, kPtexJ, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadPassHex(*from), "1809000000000100");
}

TEST_F(HtabExportTest, AStartBehindTheTableEndsTheFirstPass) {
  EnterExample();
  for (const uint64_t start : {uint64_t{0x4000}, ~uint64_t{0}}) {
    const auto from = OpenExport(*partition_, {.start_index = start});
    char buffer[100];
    const auto result = from->Read(buffer);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->bytes, 0u);
    EXPECT_TRUE(result->first_pass);
    EXPECT_TRUE(result->end_of_table);
    ASSERT_EQ(Call(*partition_, kHProtect, {2, kPtexL, 0}).return_code, kHSuccess);
    EXPECT_EQ(ReadOnce(*from, 100).size(), 24u);
  }
}

// hpt-format 10.22.
TEST_F(HtabExportTest, APassReportsWhatChangedAndNothingElse) {
  EnterExample();
  const auto from = OpenExport(*partition_);
  ReadPass(*from);
  constexpr std::string_view kReport = "f03f0000010000000000000000001f810000000000fff013";
  // The same H_PROTECT again changes nothing, and is a change.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Call(*partition_, kHProtect, {3, kPtexL, 0}).return_code, kHSuccess);
    EXPECT_EQ(ReadOnceHex(*from, 4096), kReport);
    EXPECT_EQ(ReadOnceHex(*from, 4096), "");
  }
  Walk(*partition_, kPtexL, false, true);
  ASSERT_EQ(Call(*partition_, kHClearMod, {0, kPtexL}).return_code, kHSuccess);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
}

TEST_F(HtabExportTest, WhatATableWalkSetsIsAChange) {
  EnterExample();
  const auto from = OpenExport(*partition_);
  ReadPass(*from);
  Walk(*partition_, kPtexL, true, true);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "f03f0000010000000000000000001f810000000000fff192");
  Walk(*partition_, kPtexL, true, true);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
  // Reported, it is part of the entry: clearing it is a change.
  ASSERT_EQ(Call(*partition_, kHClearMod, {0, kPtexL}).return_code, kHSuccess);
  EXPECT_EQ(ReadOnceHex(*from, 4096), "f03f0000010000000000000000001f810000000000fff112");
}

TEST_F(HtabExportTest, CleanEntriesSeparateRecords) {
  for (uint64_t ptex = 0x100; ptex < 0x108; ++ptex) {
    ASSERT_EQ(EnterExact(*partition_, ptex, kL), kHSuccess);
  }
  const auto from = OpenExport(*partition_);
  ReadPass(*from);
  for (const uint64_t ptex : {0x101, 0x103, 0x104}) {
    ASSERT_EQ(Call(*partition_, kHProtect, {2, ptex, 0}).return_code, kHSuccess);
  }
  ASSERT_EQ(Call(*partition_, kHRemove, {0, 0x105, 0}).return_code, kHSuccess);
  ASSERT_EQ(Call(*partition_, kHRemove, {0, 0x107, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadPassHex(*from),
            "01010000010000000000000000001f810000000000fff012"
            "03010000020001000000000000001f810000000000fff0120000000000001f810000000000fff012"
            "0701000000000100");
}

TEST_F(HtabExportTest, ReadersStealEachOthersMarks) {
  EnterExample();
  const auto one = OpenExport(*partition_);
  const auto two = OpenExport(*partition_);
  ReadPass(*one);
  ReadPass(*two);
  ASSERT_EQ(Call(*partition_, kHProtect, {2, kPtexL, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadOnce(*one, 4096).size(), 24u);
  EXPECT_EQ(ReadOnce(*two, 4096).size(), 0u);
}

TEST_F(HtabExportTest, MarksLastAsLongAsAnyReader) {
  EnterExample();
  auto one = OpenExport(*partition_);
  const auto two = OpenExport(*partition_);
  ReadPass(*two);
  one.reset();
  ASSERT_EQ(Call(*partition_, kHProtect, {2, kPtexL, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadOnce(*two, 4096).size(), 24u);
}

TEST_F(HtabExportTest, WithoutReadersNothingIsRecorded) {
  EnterExample();
  OpenExport(*partition_).reset();
  EXPECT_TRUE(partition_->export_marks().expired());
  ASSERT_EQ(Call(*partition_, kHProtect, {2, kPtexL, 0}).return_code, kHSuccess);
  const auto from = OpenExport(*partition_, {.start_index = 0x4000});
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
}

// The wrong behaviour: the export went on with the table of before the reset (case G9).
TEST_F(HtabExportTest, AResetEndsTheExport) {
  EnterExample();
  for (const std::optional<int> order : {std::optional<int>(), std::optional<int>(19)}) {
    const auto from = OpenExport(*partition_);
    EXPECT_FALSE(ReadOnce(*from, 25).empty());
    ASSERT_TRUE(partition_->Reset(order).ok());
    char buffer[4096];
    for (int i = 0; i < 2; ++i) {
      const auto result = from->Read(buffer);
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted) << result.status();
    }
    const auto again = OpenExport(*partition_);
    EXPECT_EQ(ReadPass(*again).size(), 8u);
    ASSERT_EQ(EnterExact(*partition_, kPtexL, kL), kHSuccess);
    EXPECT_EQ(ReadPass(*again).size(), 24u);
  }
}

TEST_F(HtabExportTest, AResizeEndsTheExport) {
  const auto partition = MakePartition("order=18,ram=0:1G,resize=manual");
  const auto from = OpenExport(*partition);
  ReadPass(*from);
  ASSERT_EQ(Call(*partition, kHResizeHptPrepare, {0, 19}).return_code, kHLongBusyOrder100Msec);
  ASSERT_TRUE(partition->FinishResizePreparation(19, kHSuccess).ok());
  EXPECT_EQ(ReadOnceHex(*from, 4096), "");
  ASSERT_EQ(Call(*partition, kHResizeHptCommit, {0, 19}).return_code, kHSuccess);
  char buffer[4096];
  EXPECT_EQ(from->Read(buffer).status().code(), absl::StatusCode::kAborted);
}

TEST_F(HtabExportTest, ARadixPartitionHasNothing) {
  const auto partition = MakePartition("ram=0:1G,mmu=radix");
  const auto from = OpenExport(*partition);
  char buffer[4096];
  for (const bool first : {true, false}) {
    const auto result = from->Read(buffer);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->bytes, 0u);
    EXPECT_TRUE(result->end_of_table);
    EXPECT_EQ(result->first_pass, first);
  }
}

// An order-36 table has 4 G entries; ten of them are used.
TEST_F(HtabExportTest, AHugeTableThatIsAlmostEmptyIsQuick) {
  const auto partition = MakePartition("order=36,ram=0:1G");
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(EnterExact(*partition, i * 0x19999999, kL), kHSuccess);
  }
  const auto from = OpenExport(*partition);
  const std::string all = ReadPass(*from, size_t{1} << 20);
  uint64_t next = 0;
  uint64_t valid = 0;
  for (std::string_view left = all; !left.empty();) {
    const auto record = mmu::ParseHtabRecord(left, std::endian::little);
    ASSERT_TRUE(record.has_value());
    ASSERT_EQ(record->header.index, next);
    next += record->header.n_valid + record->header.n_invalid;
    valid += record->header.n_valid;
    left.remove_prefix(record->bytes());
  }
  EXPECT_EQ(next, uint64_t{1} << 32);
  EXPECT_EQ(valid, 10u);
  ASSERT_EQ(Call(*partition, kHRemove, {0, 9 * uint64_t{0x19999999}, 0}).return_code, kHSuccess);
  EXPECT_EQ(ReadPassHex(*from), "616666e600000100");
}

TEST_F(HtabExportTest, ATableWhoseEntriesHaveNoNumberIsRefused) {
  const auto partition = MakePartition("order=37,ram=0:1G");
  const auto opened = HtabExport::Open(*partition, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HtabExportTest, TheQemuProfileShowsNoSoftwareBitsEither) {
  const auto partition = MakePartition("order=18,ram=0:1G,profile=qemu-tcg");
  ASSERT_EQ(EnterExact(*partition, kPtexL, kL), kHSuccess);
  ASSERT_EQ(Call(*partition, kHRead, {0, kPtexL}).registers[0], kL.v | mmu::kVSoftwareDirty);
  EXPECT_EQ(ReadPassHex(*OpenExport(*partition, {.start_index = kPtexL})),
            "f03f000001000f000000000000001f810000000000fff012");
}

}  // namespace
}  // namespace papr::hcall
