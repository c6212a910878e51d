#include "client/guest/pseries_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "hcall/abi.h"
#include "tests/unit/client/scripted_hypervisor.h"

namespace papr::client::guest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kOrder = 18;         // 2048 PTEGs
constexpr uint64_t kMask = 0x7ff;  // of the hash
constexpr uint64_t kAvpn = 0x4000123456789000;

PseriesOptions Options(SlotMode mode) {
  PseriesOptions options;
  options.mode = mode;
  options.hpt_order = kOrder;
  options.features = {.bulk_remove = true, .hash_api = true};
  return options;
}

std::vector<uint64_t> Opcodes(const ScriptedHypervisor& hypervisor) {
  std::vector<uint64_t> opcodes;
  for (const auto& request : hypervisor.requests) opcodes.push_back(request.opcode);
  return opcodes;
}

std::vector<HashedPage> Pages(size_t count) {
  std::vector<HashedPage> pages;
  for (uint64_t i = 0; i < count; ++i)
    pages.push_back({.hash = 0x100 + i, .avpn = kAvpn, .slot = 2});
  return pages;
}

TEST(FirmwareFeaturesTest, NamesMatchExactly) {
  hcall::DeviceTree tree;
  tree.hypertas_functions = {"hcall-pft", "hcall-bulkx", "hcall-hash-ap"};
  EXPECT_FALSE(ReadFirmwareFeatures(tree).bulk_remove);
  EXPECT_FALSE(ReadFirmwareFeatures(tree).hash_api);
  tree.hypertas_functions = {"hcall-bulk", "hcall-hash-api"};
  EXPECT_TRUE(ReadFirmwareFeatures(tree).bulk_remove);
  EXPECT_TRUE(ReadFirmwareFeatures(tree).hash_api);
}

TEST(PseriesOpsTest, HashModeNeedsTheHashCalls) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(0); });
  PseriesOptions options = Options(SlotMode::kHash);
  options.features.hash_api = false;
  const auto ops = PseriesOps::Create(&hypervisor, options);
  EXPECT_TRUE(absl::IsFailedPrecondition(ops.status()));
  EXPECT_THAT(std::string(ops.status().message()), HasSubstr("hcall-hash-api"));
}

TEST(PseriesOpsTest, InsertTellsTheSlotAndWhetherItIsSecondary) {
  ScriptedHypervisor hypervisor([](const hcall::HcallRequest& request) {
    hcall::HcallResult result = Returns(0);
    result.output_count = 1;
    result.registers[0] = request.registers[1] + 5;
    return result;
  });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  EXPECT_EQ(**ops.Insert(0x12, {kAvpn | 1, 0x196}), 5);
  EXPECT_EQ(**ops.Insert(0x12, {kAvpn | 3, 0x196}), 13);
  EXPECT_EQ(hypervisor.requests[0].registers[0], 0u);
  EXPECT_EQ(hypervisor.requests[0].registers[1], 0x90u);
}

TEST(PseriesOpsTest, AFullPtegIsNoErrorAndAnythingElseIs) {
  int64_t code = hcall::kHPtegFull;
  ScriptedHypervisor hypervisor([&code](const auto&) { return Returns(code); });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  EXPECT_FALSE(ops.Insert(0, {kAvpn | 1, 0})->has_value());
  code = hcall::kHParameter;
  EXPECT_FALSE(ops.Insert(0, {kAvpn | 1, 0}).ok());
}

// Seven bolted entries and one that may go: as many tries as it is slots away, then no more.
TEST(PseriesOpsTest, EvictionGoesRoundThePtegUntilOneGoes) {
  ScriptedHypervisor hypervisor([](const hcall::HcallRequest& request) {
    return Returns((request.registers[1] & 7) == 3 ? hcall::kHSuccess : hcall::kHNotFound);
  });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  EXPECT_TRUE(*ops.Evict(0x12));
  const uint64_t first = hypervisor.requests.front().registers[1] & 7;
  EXPECT_EQ(hypervisor.requests.size(), ((3 - first) & 7) + 1);
  for (const auto& request : hypervisor.requests) {
    EXPECT_EQ(request.registers[0], hcall::kFlagAndCond);
    EXPECT_EQ(request.registers[1] >> 3, 0x12u);
    EXPECT_EQ(request.registers[2], mmu::kVBolted);
  }
}

TEST(PseriesOpsTest, EvictionGivesUpAfterEight) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(hcall::kHNotFound); });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  EXPECT_FALSE(*ops.Evict(0));
  EXPECT_EQ(hypervisor.requests.size(), 8u);
}

TEST(PseriesOpsTest, BulkRemovalTakesFourAndAnEndMark) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(0); });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  ASSERT_TRUE(ops.FlushRange(Pages(6)).ok());
  ASSERT_THAT(Opcodes(hypervisor), ElementsAre(hcall::kHBulkRemove, hcall::kHBulkRemove));
  const hcall::Registers& full = hypervisor.requests[0].registers;
  EXPECT_THAT(full, ElementsAre(0x4200000000000802, kAvpn, 0x420000000000080a, kAvpn,
                                0x4200000000000812, kAvpn, 0x420000000000081a, kAvpn, 0));
  const hcall::Registers& rest = hypervisor.requests[1].registers;
  EXPECT_THAT(rest, ElementsAre(0x4200000000000822, kAvpn, 0x420000000000082a, kAvpn,
                                0xc000000000000000, 0, 0, 0, 0));
}

TEST(PseriesOpsTest, WithoutBulkRemovalPagesGoOneByOne) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(hcall::kHNotFound); });
  PseriesOptions options = Options(SlotMode::kSlot);
  options.features.bulk_remove = false;
  PseriesOps ops = *PseriesOps::Create(&hypervisor, options);
  ASSERT_TRUE(ops.FlushRange(Pages(3)).ok());
  EXPECT_THAT(Opcodes(hypervisor), ElementsAre(hcall::kHRemove, hcall::kHRemove, hcall::kHRemove));
}

TEST(PseriesOpsTest, ATrackedSecondarySlotLiesInTheOtherPteg) {
  EXPECT_EQ(PtexOf({.hash = 0x100, .avpn = kAvpn, .slot = 2}, kMask), 0x802u);
  EXPECT_EQ(PtexOf({.hash = 0x100, .avpn = kAvpn, .slot = 10}, kMask), ((0x6ffu << 3) | 2u));
}

TEST(PseriesOpsTest, HashModeNamesPagesByHash) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(0); });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kHash));
  ASSERT_TRUE(ops.FlushRange(Pages(2)).ok());
  ASSERT_TRUE(ops.Invalidate(Pages(1)[0]).ok());
  ASSERT_THAT(Opcodes(hypervisor), ElementsAre(hcall::kHHashBulkRemove, hcall::kHHashRemove));
  EXPECT_EQ(hypervisor.requests[0].registers[2], 0x4200000000000101u);
  EXPECT_EQ(hypervisor.requests[1].registers[0], hcall::kFlagAvpn);
  EXPECT_EQ(hypervisor.requests[1].registers[1], 0x100u);
}

// Answers reads of four entries from a table in which only `ptex` holds `v`.
ScriptedHypervisor::Answer OneEntry(uint64_t ptex, uint64_t v) {
  return [ptex, v](const hcall::HcallRequest& request) {
    hcall::HcallResult result = Returns(0);
    if (request.opcode != hcall::kHRead) return result;
    result.output_count = 8;
    result.registers = {};
    const uint64_t first = request.registers[1];
    if (ptex >= first && ptex < first + 4) result.registers[2 * (ptex - first)] = v;
    return result;
  };
}

TEST(PseriesOpsTest, FindReadsHalvesOfThePrimaryThenOfTheSecondary) {
  const HashedPage page = {.hash = 0x100, .avpn = kAvpn, .slot = 0};
  const uint64_t primary = 0x800;
  const uint64_t secondary = 0x6ff << 3;
  const struct {
    uint64_t ptex;
    uint64_t v;
    uint64_t reads;
    bool removed;
  } cases[] = {
      {primary + 3, kAvpn | 1, 1, true},    {primary + 4, kAvpn | 1, 2, true},
      {secondary + 0, kAvpn | 3, 3, true},  {secondary + 7, kAvpn | 3, 4, true},
      {primary + 3, kAvpn | 0, 4, false},    // not valid
      {primary + 3, kAvpn | 3, 4, false},    // another page's, in its secondary PTEG
      {secondary + 0, kAvpn | 1, 4, false},  // another page's, in its primary PTEG
  };
  for (const auto& c : cases) {
    ScriptedHypervisor hypervisor(OneEntry(c.ptex, c.v));
    PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kFind));
    ASSERT_TRUE(ops.Invalidate(page).ok());
    EXPECT_EQ(ops.finds(), 1u);
    EXPECT_EQ(ops.find_reads(), c.reads);
    EXPECT_EQ(hypervisor.requests.size(), c.reads + (c.removed ? 1 : 0));
    if (c.removed) {
      EXPECT_EQ(hypervisor.requests.back().opcode, hcall::kHRemove);
      EXPECT_EQ(hypervisor.requests.back().registers[1], c.ptex);
    }
  }
}

TEST(PseriesOpsTest, AReadThatFailsIsPassedOver) {
  const uint64_t primary = 0x800;
  const auto entry = OneEntry(primary + 5, kAvpn | 1);
  ScriptedHypervisor hypervisor([&entry](const hcall::HcallRequest& request) {
    const bool first = request.opcode == hcall::kHRead && request.registers[1] == 0x800;
    return first ? Returns(hcall::kHParameter) : entry(request);
  });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kFind));
  ASSERT_TRUE(ops.Invalidate({.hash = 0x100, .avpn = kAvpn, .slot = 0}).ok());
  EXPECT_THAT(Opcodes(hypervisor), ElementsAre(hcall::kHRead, hcall::kHRead, hcall::kHRemove));
}

TEST(PseriesOpsTest, PostedRemovalsOfOneFlushShareARoundTripAndReadsDoNot) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(0); });
  PseriesOptions options = Options(SlotMode::kSlot);
  options.post_removals = true;
  PseriesOps slot = *PseriesOps::Create(&hypervisor, options);
  ASSERT_TRUE(slot.FlushRange(Pages(192)).ok());
  EXPECT_EQ(hypervisor.requests.size(), 48u);
  EXPECT_EQ(hypervisor.round_trips(), 1u);

  ScriptedHypervisor searched(OneEntry(0x800, kAvpn | 1));
  options.mode = SlotMode::kFind;
  PseriesOps find = *PseriesOps::Create(&searched, options);
  ASSERT_TRUE(find.FlushRange(std::vector<HashedPage>(8, Pages(1)[0])).ok());
  EXPECT_EQ(searched.requests.size(), 8u + 2u);
  EXPECT_EQ(searched.round_trips(), 8u + 1u);
}

TEST(PseriesOpsTest, ABulkCallThatFailsIsFatal) {
  ScriptedHypervisor hypervisor([](const auto&) { return Returns(hcall::kHParameter); });
  PseriesOps ops = *PseriesOps::Create(&hypervisor, Options(SlotMode::kSlot));
  const absl::Status status = ops.FlushRange(Pages(4));
  EXPECT_THAT(std::string(status.message()), HasSubstr("H_BULK_REMOVE returned H_PARAMETER"));
}

}  // namespace
}  // namespace papr::client::guest
