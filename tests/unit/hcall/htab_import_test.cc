#include "hcall/htab_import.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/hcall/htab_test_util.h"

namespace papr::hcall {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr std::string_view kExample =
    "0000000000001809"
    "180900000100d7360007ffffffffff850000000003038012"
    "f03f000001000f000000000000001f810000000000fff012";
// With the bit that KVM's own export shows.
constexpr std::string_view kExampleOfKvm =
    "0000000000001809"
    "180900000100d7360007ffffffffffc50000000003038012"
    "f03f000001000f000000000000001fc10000000000fff012";

const auto kExampleTable =
    UnorderedElementsAre(Pair(0x918, Pair(0x0007ffffffffff85, 0x0000000003038012)),
                         Pair(0x3ff0, Pair(0x0000000000001f81, 0x0000000000fff012)));

std::string Hex(std::string_view hex) {
  return absl::HexStringToBytes(absl::string_view(hex.data(), hex.size()));
}

// A record of entries, header little-endian.
std::string Record(uint32_t index, const std::vector<mmu::Hpte>& entries, uint16_t invalid = 0) {
  std::string out(mmu::kHtabHeaderBytes + entries.size() * mmu::kHtabEntryBytes, '\0');
  mmu::EncodeHtabHeader({index, static_cast<uint16_t>(entries.size()), invalid},
                        std::endian::little, out.data());
  for (size_t i = 0; i < entries.size(); ++i) {
    mmu::EncodeHtabEntry(entries[i], &out[mmu::kHtabHeaderBytes + i * mmu::kHtabEntryBytes]);
  }
  return out;
}

class HtabImportTest : public testing::Test {
 protected:
  // Imports `stream` as a whole, which must be fine.
  void Import(const std::string& stream) {
    HtabImport to(*partition_, std::endian::little);
    const auto consumed = to.Write(stream);
    ASSERT_TRUE(consumed.ok()) << consumed.status();
    EXPECT_EQ(*consumed, stream.size());
  }
  void ExpectRefused(const std::string& stream, const std::string& what) {
    HtabImport to(*partition_, std::endian::little);
    const auto consumed = to.Write(stream);
    ASSERT_FALSE(consumed.ok());
    EXPECT_EQ(consumed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(consumed.status().message()), HasSubstr(what));
  }
  auto table() { return TableOf(*partition_); }

  std::unique_ptr<Partition> partition_ = MakePartition("order=18,ram=0:1G,profile=kvm-hv");
};

// hpt-format 10.16.
TEST_F(HtabImportTest, TheExampleWithAndWithoutTheLockBit) {
  for (const std::string_view stream : {kExample, kExampleOfKvm}) {
    ASSERT_TRUE(partition_->Reset().ok());
    Import(Hex(stream));
    EXPECT_THAT(table(), kExampleTable);
    EXPECT_EQ(ReadPassHex(*OpenExport(*partition_)), kExample);
  }
}

TEST_F(HtabImportTest, ABigEndianHeaderIsReadAsOne) {
  HtabImport to(*partition_, std::endian::big);
  const auto consumed = to.Write(Hex("00000918000136d70007ffffffffff850000000003038012"));
  ASSERT_TRUE(consumed.ok()) << consumed.status();
  EXPECT_THAT(table(), UnorderedElementsAre(Pair(0x918, testing::_)));
}

TEST_F(HtabImportTest, WhatItDidIsCounted) {
  Import(Hex(kExample));
  HtabImport to(*partition_, std::endian::little);
  ASSERT_TRUE(to.Write(Record(0, {}, 0x919) + Record(0x3ff0, {{0x1f81, 0xfff012}})).ok());
  EXPECT_EQ(to.counts().records, 2u);
  EXPECT_EQ(to.counts().stored, 1u);
  EXPECT_EQ(to.counts().removed, 1u);
}

// hpt-format 10.20: a record that has not come as a whole is no error.
TEST_F(HtabImportTest, WholeRecordsAreConsumed) {
  const std::string stream = Hex(kExample);
  for (size_t bytes = 0; bytes <= stream.size(); ++bytes) {
    ASSERT_TRUE(partition_->Reset().ok());
    HtabImport to(*partition_, std::endian::little);
    const auto consumed = to.Write(std::string_view(stream).substr(0, bytes));
    ASSERT_TRUE(consumed.ok()) << consumed.status();
    EXPECT_EQ(*consumed, bytes < 8 ? 0u : bytes < 32 ? 8u : bytes < 56 ? 32u : 56u);
    EXPECT_EQ(to.counts().records, bytes < 8 ? 0u : bytes < 32 ? 1u : bytes < 56 ? 2u : 3u);
  }
}

// hpt-format 10.20.
TEST_F(HtabImportTest, AnInvalidEntryAmongTheValidIsRefused) {
  const mmu::Hpte good = {0x1f81, 0xfff012};
  const std::string stream =
      Record(0x10, {good}) + Record(0x20, {good, {0x1f80, 0xfff012}, good}) + Record(0x30, {good});
  ExpectRefused(stream, "record 2: entry 0x21, V 0x0000000000001f80, R 0x0000000000fff012");
  // What came before stays.
  EXPECT_THAT(table(), UnorderedElementsAre(Pair(0x10, testing::_), Pair(0x20, testing::_)));
}

TEST_F(HtabImportTest, EntriesOutsideTheTableAreRefused) {
  const mmu::Hpte good = {0x1f81, 0xfff012};
  ExpectRefused(Record(0x4000, {}), "record 1: index 0x4000 ");
  ExpectRefused(Record(0xffffffff, {good}), "record 1: index 0xffffffff");
  ExpectRefused(Record(0x3fff, {good, good}), "is outside the table of 0x4000 entries");
  ExpectRefused(Record(0x3fff, {good}, 1), "index 0x3fff with 1 valid and 1 invalid entries");
  EXPECT_THAT(table(), IsEmpty());
  Import(Record(0x3fff, {good}) + Record(0x3ffe, {}, 1));
}

// The wrong behaviour: an import took a page size that is none (case G4). What is known: hpt-format
// 4.2.
TEST_F(HtabImportTest, AnUnknownPageSizeIsRefusedAndTheSlotKept) {
  const mmu::Hpte before = {0x123456001, 0x1234012};
  ASSERT_EQ(EnterExact(*partition_, 0x3fe8, before), kHSuccess);
  ExpectRefused(
      Record(0x3fe8, {{0x0000000123456005, 0x0000000001232012}}),
      "record 1: entry 0x3fe8, V 0x0000000123456005, R 0x0000000001232012: the page size");
  EXPECT_THAT(table(), UnorderedElementsAre(Pair(0x3fe8, Pair(before.v, before.r))));
}

TEST_F(HtabImportTest, EveryKnownPageSizeIsTaken) {
  for (const uint64_t lp : {0x01, 0x00, 0x03, 0x07, 0x08, 0x38}) {
    Import(Record(0x3fe8, {{0x123456005, 0x10000000000012 | lp << 12}}));  // I/O: no RAM there
  }
  Import(Record(0x3fe8, {{0x123456001, 0x1232012}}));
}

// hpt-format 8.4: refused by the insertion, the slot is empty.
TEST_F(HtabImportTest, WhatHEnterRefusesLeavesTheSlotEmpty) {
  ASSERT_EQ(EnterExact(*partition_, 0x3fe8, {0x123456001, 0x1234012}), kHSuccess);
  ExpectRefused(Record(0x3fe8, {{0x8000000123456001, 0x1234012}}),
                "H_ENTER refuses it with H_PARAMETER");
  EXPECT_THAT(table(), IsEmpty());
}

// hpt-format 8.4: bits 0x60 of V and bit 62 of R are dropped.
TEST_F(HtabImportTest, TheHypervisorsBitsAreDropped) {
  Import(Record(0x10, {{0x1f81 | 0x60, 0xfff012 | uint64_t{1} << 62}}));
  EXPECT_THAT(table(), UnorderedElementsAre(Pair(0x10, Pair(0x1f81, 0xfff012))));
}

// hpt-format 10.21.
TEST_F(HtabImportTest, AnOccupiedSlotIsReplacedAndInvalidEntriesGo) {
  Import(Record(0x10, {{0x1f81, 0xfff012}, {0x2f81, 0xfff012}, {0x3f81, 0xfff012}}));
  Import(Record(0x10, {{0x4f81, 0x12}}, 1));
  EXPECT_THAT(table(),
              UnorderedElementsAre(Pair(0x10, Pair(0x4f81, 0x12)), Pair(0x12, testing::_)));
}

TEST_F(HtabImportTest, LongRunsOfBothKindsAreApplied) {
  partition_ = MakePartition("order=22,ram=0:1G");
  std::vector<mmu::Hpte> many(0xffff, mmu::Hpte{0x1f81, 0xfff012});
  Import(Record(0, many) + Record(0x20000, many));
  EXPECT_EQ(partition_->GetStatistics().valid, 2u * 0xffff);
  Import(Record(0, {}, 0xffff) + Record(0x10000, {}, 0xffff) + Record(0x20000, {}, 0xfffe));
  EXPECT_EQ(partition_->GetStatistics().valid, 1u);
}

TEST_F(HtabImportTest, AnExportThatIsOpenSeesIt) {
  const auto from = OpenExport(*partition_);
  ReadPass(*from);
  Import(Record(0x10, {{0x1f81, 0xfff012}}));
  EXPECT_EQ(ReadPassHex(*from), "10000000010000000000000000001f810000000000fff012");
}

TEST_F(HtabImportTest, AResetEndsTheImport) {
  HtabImport to(*partition_, std::endian::little);
  ASSERT_TRUE(to.Write(Record(0x10, {{0x1f81, 0xfff012}})).ok());
  ASSERT_TRUE(partition_->Reset().ok());
  EXPECT_EQ(to.Write(Record(0x20, {{0x1f81, 0xfff012}})).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_THAT(table(), IsEmpty());
}

TEST_F(HtabImportTest, ARadixPartitionTakesNone) {
  partition_ = MakePartition("ram=0:1G,mmu=radix");
  HtabImport to(*partition_, std::endian::little);
  EXPECT_EQ(to.Write("").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HtabImportTest, TheQemuProfileHasItsOwnRules) {
  partition_ = MakePartition("order=18,ram=0:1G,profile=qemu-tcg");
  Import(Record(0x3ff0, {{0x1f81, 0xfff012}}));
  EXPECT_THAT(table(), UnorderedElementsAre(Pair(0x3ff0, Pair(0x1fc1, 0xfff012))));
  // W, I and no M, in RAM.
  ExpectRefused(Record(0x10, {{0x1f81, 0xfff062}}), "H_ENTER refuses it with H_PARAMETER");
  // 64K in 4K.
  ExpectRefused(Record(0x10, {{0x1f85, 0xf07012}}), "the page size is none of the partition's");
}

}  // namespace
}  // namespace papr::hcall
