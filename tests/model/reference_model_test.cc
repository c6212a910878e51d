// The reference model against the worked examples of the specification: a mistake in the model must
// show by itself, not as a mismatch with the engine.

#include "tests/model/reference_model.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace papr::model {
namespace {

using hcall::HcallResult;
using hcall::PartitionConfig;

constexpr uint64_t kExact = 0x8000000000;
constexpr uint64_t kAvpnFlag = 0x80000000;
constexpr uint64_t kAndCond = 0x40000000;

PartitionConfig Config(int order, hcall::Profile profile = hcall::Profile::kKvmHv) {
  PartitionConfig config;
  config.profile = profile;
  config.order = order;
  config.memory = {{0, uint64_t{1} << 30, hcall::MemoryRegion::Kind::kRam}};
  return config;
}

HcallResult Call(ReferenceModel& model, uint64_t opcode,
                 std::initializer_list<uint64_t> arguments) {
  hcall::HcallRequest request{.opcode = opcode};
  std::copy(arguments.begin(), arguments.end(), request.registers.begin());
  return model.Hcall(request);
}

void EnterAt(ReferenceModel& model, uint64_t ptex, uint64_t v, uint64_t r) {
  const HcallResult result = Call(model, hcall::kHEnter, {kExact, ptex, v, r});
  ASSERT_EQ(result.return_code, 0);
  ASSERT_EQ(result.registers[0], ptex);
}

// A row of the worked numeric examples of the table format.
struct Example {
  const char* id;
  VirtualPage page;
  int actual;
  int order;
  uint64_t hash, avpn, v, r, primary, secondary;
};

const Example kExamples[] = {
    {"A",
     {28, 12, 0x123456789, 0x0001000},
     12,
     24,
     0x0123456788,
     0x0000123456789000,
     0x0000123456789001,
     0x0000000001234012,
     0xb3c40,
     0x4c3b8},
    {"B",
     {28, 16, 0x123456789, 0x0345678},
     16,
     24,
     0x01234567bd,
     0x0000123456789000,
     0x0000123456789005,
     0x0000000002341012,
     0xb3de8,
     0x4c210},
    {"C",
     {28, 24, 0x123456789, 0x345678a},
     24,
     24,
     0x012345678a,
     0x0000123456789300,
     0x0000123456789305,
     0x0000000007000012,
     0xb3c50,
     0x4c3a8},
    {"D",
     {40, 12, 0xabcdef, 0x2345678000},
     12,
     24,
     0x1bdc9f9b97,
     0x4000abcdef234500,
     0x4000abcdef234501,
     0x0000000000042012,
     0xcdcb8,
     0x32340},
    {"E",
     {40, 16, 0x408a66, 0x12345678},
     16,
     26,
     0x14cc409852,
     0x4000408a66001200,
     0x4000408a66001205,
     0x0000000012341012,
     0x4c290,
     0x3b3d68},
    {"F",
     {40, 24, 0x408a66, 0xf2345678},
     24,
     26,
     0x14cc408a94,
     0x4000408a6600f200,
     0x4000408a6600f205,
     0x00000000f2000012,
     0x454a0,
     0x3bab58},
    {"G",
     {40, 24, 0x1ffffff, 0x5000000},
     24,
     24,
     0x7ffffffffa,
     0x4001ffffff000500,
     0x4001ffffff000505,
     0x0000000005000012,
     0xfffd0,
     0x28},
    {"H",
     {28, 12, 0x123456789, 0x0345678},
     16,
     24,
     0x01234564cc,
     0x0000123456789000,
     0x0000123456789005,
     0x0000000002347012,
     0xb2660,
     0x4d998},
    {"I",
     {40, 16, 0x408a66, 0xff12345678},
     24,
     26,
     0x14ccbf9852,
     0x4000408a66ff1200,
     0x4000408a66ff1205,
     0x0000000045008012,
     0x3cc290,
     0x33d68},
    {"J",
     {28, 12, 0x7fffffffff, 0xfedcba9},
     24,
     18,
     0x7fffff0123,
     0x0007ffffffffff80,
     0x0007ffffffffff85,
     0x0000000003038012,
     0x918,
     0x36e0},
    {"K",
     {40, 34, 0x1555555, 0x5712345678},
     34,
     30,
     0x2aab555540,
     0x4001555555540000,
     0x4001555555540005,
     0x0000000400003012,
     0x2aaaa00,
     0x15555f8},
    {"L",
     {28, 12, 0x1, 0xffff000},
     12,
     18,
     0x000000fffe,
     0x0000000000001f80,
     0x0000000000001f81,
     0x0000000000fff012,
     0x3ff0,
     0x8},
};

TEST(ReferenceEntry, EncodesAndRecoversTheWorkedExamples) {
  for (const Example& row : kExamples) {
    SCOPED_TRACE(row.id);
    const uint64_t mask = (uint64_t{1} << (row.order - 7)) - 1;
    EXPECT_EQ(HashOf(row.page), row.hash);
    EXPECT_EQ(AvpnOf(row.page), row.avpn);
    EXPECT_EQ(GroupStart(row.hash, false, mask), row.primary);
    EXPECT_EQ(GroupStart(row.hash, true, mask), row.secondary);
    const auto sizes = DecodePageSizes(mmu::PageSizeTable::Power(), row.v, row.r);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(sizes->base, row.page.base_shift);
    EXPECT_EQ(sizes->actual, row.actual);
    for (const uint64_t bits : {RecoverableBits(sizes->base), mask}) {
      EXPECT_EQ(HashOf(RecoverPage(row.v, sizes->base, row.primary + 5, bits)), row.hash);
      EXPECT_EQ(HashOf(RecoverPage(row.v | 2, sizes->base, row.secondary + 2, bits)), row.hash);
      EXPECT_EQ(BlockOf(RecoverPage(row.v, sizes->base, row.primary, bits)), BlockOf(row.page));
    }
  }
}

TEST(ReferenceEntry, KnowsTheLpBytesOfTheSpecificationAndNoOther) {
  int valid = 0;
  for (uint64_t lp = 0; lp < 256; ++lp) {
    const bool expected =
        lp == 0 || (lp & 0xf) == 1 || lp == 3 || (lp & 0xf) == 7 || lp == 8 || lp == 0x38;
    const auto sizes = DecodePageSizes(mmu::PageSizeTable::Power(), 5, lp << 12);
    EXPECT_EQ(sizes.has_value(), expected) << lp;
    valid += sizes.has_value() ? 1 : 0;
    EXPECT_EQ(DecodePageSizes(mmu::PageSizeTable::Power(), 1, lp << 12), (mmu::PageSizes{12, 12}));
  }
  EXPECT_EQ(valid, 36);
}

TEST(ReferenceModelTest, EntersReadsAndRemovesExampleL) {
  ReferenceModel model(Config(18));
  const uint64_t v = 0x1f81, r = 0xfff012;
  for (uint64_t slot = 0; slot < 8; ++slot) {
    const HcallResult result = Call(model, hcall::kHEnter, {0, 0x3ff5, v, r});
    EXPECT_EQ(result.return_code, 0);
    EXPECT_EQ(result.registers[0], 0x3ff0 + slot);
  }
  EXPECT_EQ(Call(model, hcall::kHEnter, {0, 0x3ff5, v, r}).return_code, hcall::kHPtegFull);
  EXPECT_EQ(Call(model, hcall::kHRemove, {kAvpnFlag, 0x3ff3, 0x1f81}).return_code,
            hcall::kHNotFound);
  const HcallResult removed = Call(model, hcall::kHRemove, {kAvpnFlag, 0x3ff3, 0x1f80});
  EXPECT_EQ(removed.return_code, 0);
  EXPECT_EQ(removed.output_count, 2);
  EXPECT_EQ(removed.registers[0], v);
  EXPECT_EQ(removed.registers[1], r);
  EXPECT_EQ(Call(model, hcall::kHRemove, {kAvpnFlag | kAndCond, 0x3ff2, 0x1f80}).return_code,
            hcall::kHNotFound);
  const HcallResult read = Call(model, hcall::kHRead, {0x2000000000, 0x3ff2});
  EXPECT_EQ(read.output_count, 8);
  EXPECT_EQ(read.registers, (hcall::Registers{v, r, v, r, v, r, 0, 0, 0}));
}

TEST(ReferenceModelTest, QemuShowsItsSoftwareBit) {
  ReferenceModel model(Config(18, hcall::Profile::kQemuTcg));
  EXPECT_EQ(Call(model, hcall::kHRead, {0, 0x3ff0}).registers[0], 0x40);
  EXPECT_EQ(Call(model, hcall::kHEnter, {0, 0x3ff0, 0x1f80, 0xfff012}).return_code, 0);
  EXPECT_EQ(Call(model, hcall::kHRead, {0, 0x3ff0}).registers[0], 0x1fc0);
  EXPECT_EQ(Call(model, hcall::kHEnter, {0, 0x3ff0, 0x1f81, 0xfff012}).registers[0], 0x3ff0);
  EXPECT_EQ(Call(model, hcall::kHRemove, {0, 0x3ff0}).registers[0], 0x1fc1);
  EXPECT_EQ(model.At(0x3ff0), (Entry{0x40, 0}));
  EXPECT_EQ(Call(model, hcall::kHClearRef, {0, 0x3ff0}).return_code, hcall::kHFunction);
}

TEST(ReferenceModelTest, ProtectReplacesAllSevenFields) {
  ReferenceModel model(Config(18));
  EnterAt(model, 0x10, 0x1f81, 0x1234192);
  EXPECT_EQ(Call(model, hcall::kHProtect, {0x80003f06, 0x10, 0x1f80}).return_code, 0);
  EXPECT_EQ(model.At(0x10).r, 0xb000000001234f96);
  EXPECT_EQ(Call(model, hcall::kHProtect, {0, 0x10}).return_code, 0);
  EXPECT_EQ(model.At(0x10).r, 0x0000000001234190);
}

TEST(ReferenceModelTest, ClearsReferenceAndChange) {
  ReferenceModel model(Config(18));
  EnterAt(model, 0x10, 0x1f81, 0xfff012);
  ASSERT_TRUE(model.SetReferenceChange({0x10, true, true}));
  EXPECT_FALSE(model.SetReferenceChange({0x11, true, true}));
  EXPECT_EQ(Call(model, hcall::kHClearRef, {0, 0x10}).registers[0], 0xfff192);
  EXPECT_EQ(Call(model, hcall::kHClearMod, {0, 0x10}).registers[0], 0xfff092);
  EXPECT_EQ(model.At(0x10).r, 0xfff012);
}

struct BulkRow {
  uint64_t high, low, v, r;
  uint64_t kvm, qemu;
  int64_t return_code;
};

TEST(ReferenceModelTest, AnswersTheBulkExamples) {
  const uint64_t v = 0x0000123456789001, r = 0x1234012, avpn = 0x0000123456789000;
  const BulkRow rows[] = {
      {0x42000000000b3c43, avpn, v, r | 0x180, 0x8e000000000b3c43, 0x820c0000000b3c43, 0},
      {0x42000000000b3c43, avpn, v, r | 0x100, 0x8a000000000b3c43, 0x82080000000b3c43, 0},
      {0x42000000000b3c43, avpn, v, r, 0x82000000000b3c43, 0x82000000000b3c43, 0},
      {0x42000000000b3c43, 0, v, r, 0x92000000000b3c43, 0x92000000000b3c43, 0},
      {0x40000000000b3c43, 7, v, r | 0x100, 0x88000000000b3c43, 0x80080000000b3c43, 0},
      {0x41000000000b3c43, 0x10, v | 0x10, r, 0x91000000000b3c43, 0x91000000000b3c43, 0},
      {0x43000000000b3c43, 0, v, r, 0xa3000000000b3c43, 0xa3000000000b3c43, -4},
      {0x4200000000100000, 0, v, r, 0xa200000000100000, 0xa200000000100000, -4},
      {0x02000000000b3c43, 0, v, r, 0xa2000000000b3c43, 0x02000000000b3c43, -4},
      {0xc000000000000000, 0, v, r, 0xc000000000000000, 0xc000000000000000, 0},
  };
  for (const auto profile : {hcall::Profile::kKvmHv, hcall::Profile::kQemuTcg}) {
    for (const BulkRow& row : rows) {
      ReferenceModel model(Config(24, profile));
      EnterAt(model, 0xb3c43, row.v, row.r);
      const HcallResult result =
          Call(model, hcall::kHBulkRemove, {row.high, row.low, 0xc000000000000000});
      EXPECT_EQ(result.return_code, row.return_code);
      EXPECT_EQ(result.output_count, 8);
      EXPECT_EQ(result.registers[0], model.qemu() ? row.qemu : row.kvm);
      EXPECT_EQ(result.registers[1], row.low);
    }
  }
}

TEST(ReferenceModelTest, AnswersTheBlockExamples) {
  ReferenceModel model(Config(24));
  EnterAt(model, 0xb3c43, 0x0000123456789001, 0x1234112);
  EnterAt(model, 0xb3c58, 0x0000123456789001, 0x1235192);
  EnterAt(model, 0xb3c08, 0x0000123456789001, 0x1236012);
  const uint64_t end = 0xc000000000000000;
  const HcallResult result =
      Call(model, hcall::kHBlockRemove,
           {0x0000123456789000, 0x41000000000b3c43, 0x41000000000b3c58, 0x4100000000100000,
            0x41000000000b3c08, 0x41000000000b3c60, end, 0x77});
  EXPECT_EQ(result.return_code, hcall::kHPartial);
  EXPECT_EQ(result.output_count, 8);
  EXPECT_EQ(result.registers,
            (hcall::Registers{0x85000000000b3c43, 0x87000000000b3c58, 0x9100000000100000,
                              0xa9000000000b3c08, 0x89000000000b3c60, end, 0x77, 0, 0}));
  EXPECT_EQ(model.GetStatistics().valid, 1);
}

TEST(ReferenceModelTest, GrowsToTheGroupsOfTheSpecification) {
  ReferenceModel model(Config(18));
  PartitionConfig config = Config(18);
  config.max_order = 24;
  ReferenceModel growing(config);
  EnterAt(growing, 0x3ff3, 0x1f91, 0xfff012);
  EnterAt(growing, 0x91a, 0x0007ffffffffff95, 0x3038012);
  EnterAt(growing, 0xb, 0x1f93, 0xfff012);
  EnterAt(growing, 0x3ff4, 0x1f81, 0xfff012);
  EXPECT_EQ(Call(growing, hcall::kHResizeHptCommit, {0, 24}).return_code, hcall::kHClosed);
  EXPECT_EQ(Call(growing, hcall::kHResizeHptPrepare, {0, 24}).return_code, 9902);
  EXPECT_EQ(Call(growing, hcall::kHResizeHptCommit, {0, 24}).return_code, hcall::kHBusy);
  ASSERT_TRUE(growing.FinishResizePreparation(24, 0));
  EXPECT_EQ(Call(growing, hcall::kHResizeHptPrepare, {0, 24}).return_code, 0);
  EXPECT_EQ(Call(growing, hcall::kHResizeHptCommit, {0, 24}).return_code, 0);
  EXPECT_EQ(growing.GetStatistics().valid, 3);
  EXPECT_TRUE(growing.Present(0x7fff3));
  EXPECT_TRUE(growing.Present(0x8091a));
  EXPECT_TRUE(growing.Present(0x8000b));
  EXPECT_EQ(Call(model, hcall::kHResizeHptPrepare, {0, 25}).return_code, hcall::kHResource);
}

TEST(ReferenceModelTest, RefusesToShrinkOntoAnOccupiedSlot) {
  for (const uint64_t second_slot : {2, 5}) {
    ReferenceModel model(Config(19));
    EnterAt(model, 0x808 + 2, 0x100000 | 0x11, 0x1012);
    EnterAt(model, 0x4808 + second_slot, 0x100080 | 0x11, 0x801012);
    EXPECT_EQ(Call(model, hcall::kHResizeHptPrepare, {0, 18}).return_code, 9902);
    ASSERT_TRUE(model.FinishResizePreparation(18, 0));
    const bool fits = second_slot == 5;
    EXPECT_EQ(Call(model, hcall::kHResizeHptCommit, {0, 18}).return_code,
              fits ? hcall::kHSuccess : hcall::kHPtegFull);
    EXPECT_EQ(model.order(), fits ? 18 : 19);
    EXPECT_EQ(model.pending_order(), std::nullopt);
    EXPECT_TRUE(model.Present(0x80a));
    EXPECT_TRUE(model.Present(fits ? 0x80d : 0x480a));
  }
}

TEST(ReferenceModelTest, MovesEntriesOfWrongGroupsAsKvmDoes) {
  struct Row {
    uint64_t v, group;
    int from, to;
  };
  for (const Row& row : {Row{0x1011, 0x1468, 22, 20}, Row{0x1015, 0x468, 18, 20}}) {
    PartitionConfig config = Config(row.from);
    config.max_order = 22;
    ReferenceModel model(config);
    EnterAt(model, row.group * 8 + 1, row.v, 0x1012);
    ASSERT_EQ(Call(model, hcall::kHResizeHptPrepare, {0, uint64_t(row.to)}).return_code, 9902);
    ASSERT_TRUE(model.FinishResizePreparation(row.to, 0));
    ASSERT_EQ(Call(model, hcall::kHResizeHptCommit, {0, uint64_t(row.to)}).return_code, 0);
    EXPECT_TRUE(model.Present(row.group * 8 + 1));
  }
}

TEST(ReferenceModelTest, HashCallsMindTheHBit) {
  ReferenceModel model(Config(18));
  EnterAt(model, 0x8, 0x1f81, 0xf80012);
  EXPECT_EQ(Call(model, hcall::kHHashRemove, {0, 0xf801, 0x1f80}).return_code, hcall::kHParameter);
  EXPECT_EQ(Call(model, hcall::kHHashRemove, {kAvpnFlag, 0xfffe, 0x1f80}).return_code,
            hcall::kHNotFound);
  const HcallResult bulk = Call(
      model, hcall::kHHashBulkRemove,
      {0x420000000000fffe, 0x1f80, 0x420000000000f801, 0x1f80, 0x400000000000f801, 0x1f80, 0x55});
  EXPECT_EQ(bulk.return_code, hcall::kHParameter);
  EXPECT_EQ(bulk.registers, (hcall::Registers{0x920000000000fffe, 0x1f80, 0x820000000000f801,
                                              0x1f80, 0xa00000000000f801, 0x1f80, 0x55, 0, 0}));
}

TEST(ReferenceModelTest, AnswersWhoMayNotCall) {
  ReferenceModel model(Config(18));
  EXPECT_EQ(model.Hcall({.opcode = 0x5, .registers = {}, .problem_state = true}).return_code,
            hcall::kHPrivilege);
  EXPECT_EQ(Call(model, 0x5, {}).return_code, hcall::kHFunction);
  EXPECT_EQ(Call(model, 0x24, {}).return_code, hcall::kHFunction);
  PartitionConfig config = Config(18);
  config.mmu = hcall::MmuKind::kRadix;
  ReferenceModel radix(config);
  EXPECT_EQ(Call(radix, hcall::kHEnter, {}).return_code, hcall::kHFunction);
  EXPECT_EQ(Call(radix, hcall::kHResizeHptPrepare, {}).return_code, hcall::kHNotAvailable);
}

}  // namespace
}  // namespace papr::model
