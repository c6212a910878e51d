#include "hcall/partition.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hcall/trace.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

int64_t Enter(Partition& partition, uint64_t ptex, const mmu::Hpte& hpte) {
  return Call(partition, kHEnter, {kFlagExact, ptex, hpte.v, hpte.r}).return_code;
}

TEST(Partition, CreateRefusesWhatValidateRefuses) {
  PartitionConfig config;  // no memory
  const auto partition = Partition::Create(config);
  ASSERT_FALSE(partition.ok());
  EXPECT_EQ(partition.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Partition, CreateIsBoundByTheBudget) {
  PartitionConfig config = ParsePartitionSpec("order=24")->config;
  config.hpt_budget = std::make_shared<mmu::MemoryBudget>(uint64_t{1} << 23);
  EXPECT_EQ(Partition::Create(config).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(config.hpt_budget->used(), 0u);
}

TEST(Partition, StatisticsCountTheValidEntries) {
  const auto partition = MakePartition("order=18");
  const mmu::Hpte plain = {0x1f81, 0xfff012};
  const mmu::Hpte bolted = {0x1f91, 0xfff192};
  const mmu::Hpte large_secondary = {0x1f87, 0x1231012};
  ASSERT_EQ(Enter(*partition, 0x10, plain), kHSuccess);
  ASSERT_EQ(Enter(*partition, 0x12, bolted), kHSuccess);
  ASSERT_EQ(Enter(*partition, 0x3fff, large_secondary), kHSuccess);
  const HptStatistics statistics = partition->GetStatistics();
  EXPECT_EQ(statistics.order, 18);
  EXPECT_EQ(statistics.table_bytes, uint64_t{1} << 18);
  EXPECT_EQ(statistics.valid, 3u);
  EXPECT_EQ(statistics.bolted, 1u);
  EXPECT_EQ(statistics.secondary, 1u);
  EXPECT_EQ(statistics.large, 1u);
  EXPECT_THAT(statistics.pteg_fill, ElementsAre(0x7fe, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(statistics.digest, DigestTerm(0x10, plain) + DigestTerm(0x12, bolted) +
                                   DigestTerm(0x3fff, large_secondary));
  EXPECT_EQ(statistics.pending_order, std::nullopt);
  EXPECT_GT(statistics.resident_bytes, 0u);
}

TEST(Partition, TheDigestLeavesOutTheHypervisorsBits) {
  const auto kvm = MakePartition("order=18");
  const auto qemu = MakePartition("order=18,profile=qemu-tcg");
  for (Partition* partition : {kvm.get(), qemu.get()}) {
    ASSERT_EQ(Enter(*partition, 0x10, {0x1f81, 0xfff012}), kHSuccess);
  }
  EXPECT_EQ(kvm->GetStatistics().digest, qemu->GetStatistics().digest);
  EXPECT_EQ(kvm->GetStatistics().digest, DigestTerm(0x10, {0x1f81, 0xfff012}));
}

TEST(Partition, ASampleOfEverythingIsTheCount) {
  const auto partition = MakePartition("order=18");
  for (uint64_t ptex = 0; ptex < 0x4000; ptex += 3) {
    ASSERT_EQ(Enter(*partition, ptex, {0x1f81, 0xfff012}), kHSuccess);
  }
  const HptStatistics all = partition->GetStatistics();
  EXPECT_EQ(partition->SampleStatistics(uint64_t{1} << 20).valid, all.valid);
  const HptStatistics some = partition->SampleStatistics(100);
  EXPECT_NEAR(static_cast<double>(some.valid), static_cast<double>(all.valid),
              0.2 * static_cast<double>(all.valid));
}

TEST(Partition, StatisticsShowAPendingResize) {
  const auto partition = MakePartition("order=18,resize=manual");
  ASSERT_EQ(Call(*partition, kHResizeHptPrepare, {0, 20}).return_code, kHLongBusyOrder100Msec);
  EXPECT_EQ(partition->GetStatistics().pending_order, 20);
  EXPECT_FALSE(partition->GetStatistics().pending_ready);
  ASSERT_TRUE(partition->FinishResizePreparation(20, kHSuccess).ok());
  EXPECT_TRUE(partition->GetStatistics().pending_ready);
  ASSERT_EQ(Call(*partition, kHResizeHptCommit, {0, 20}).return_code, kHSuccess);
  EXPECT_EQ(partition->GetStatistics().pending_order, std::nullopt);
  EXPECT_EQ(partition->order(), 20);
}

TEST(Partition, FinishResizePreparationNeedsOnePendingOfThatOrder) {
  const auto manual = MakePartition("order=18,resize=manual");
  EXPECT_EQ(manual->FinishResizePreparation(20, kHSuccess).code(),
            absl::StatusCode::kFailedPrecondition);
  Call(*manual, kHResizeHptPrepare, {0, 20});
  EXPECT_EQ(manual->FinishResizePreparation(21, kHSuccess).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(manual->FinishResizePreparation(20, kHSuccess).ok());
  EXPECT_EQ(manual->FinishResizePreparation(20, kHSuccess).code(),
            absl::StatusCode::kFailedPrecondition);
  const auto background = MakePartition("order=18");
  Call(*background, kHResizeHptPrepare, {0, 20});
  EXPECT_EQ(background->FinishResizePreparation(20, kHSuccess).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Partition, APreparationBeyondTheBudgetFails) {
  PartitionConfig config = ParsePartitionSpec("order=18,ram=0:1G,resize=manual")->config;
  config.hpt_budget = std::make_shared<mmu::MemoryBudget>(uint64_t{1} << 20);
  auto partition = *Partition::Create(config);
  EXPECT_EQ(Call(*partition, kHResizeHptPrepare, {0, 24}).return_code, kHLongBusyOrder100Msec);
  ASSERT_TRUE(partition->FinishResizePreparation(24, kHSuccess).ok());
  EXPECT_EQ(Call(*partition, kHResizeHptPrepare, {0, 24}).return_code, kHNoMem);
  partition.reset();
  EXPECT_EQ(config.hpt_budget->used(), 0u);
}

TEST(Partition, SetReferenceChangeStopsAtTheFirstBadUpdate) {
  const auto partition = MakePartition("order=18");
  ASSERT_EQ(Enter(*partition, 1, {0x1f81, 0xfff012}), kHSuccess);
  ASSERT_EQ(Enter(*partition, 2, {0x1f81, 0xfff012}), kHSuccess);
  size_t applied = 99;
  const std::vector<ReferenceChange> invalid = {{1, true, false}, {5, true, true}, {2, true, true}};
  absl::Status status = partition->SetReferenceChange(invalid, &applied);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("updates[1]"));
  EXPECT_EQ(applied, 1u);
  const std::vector<ReferenceChange> beyond = {{1, false, true}, {0x4000, true, true}};
  status = partition->SetReferenceChange(beyond, &applied);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("updates[1]"));
  EXPECT_EQ(applied, 1u);
  EXPECT_EQ(Call(*partition, kHRead, {0, 1}).registers[1], 0xfff192u);
  EXPECT_EQ(Call(*partition, kHRead, {0, 2}).registers[1], 0xfff012u);
  EXPECT_TRUE(partition->SetReferenceChange({}, &applied).ok());
  EXPECT_EQ(applied, 0u);
}

TEST(Partition, ResetEmptiesTheTable) {
  const auto partition = MakePartition("order=18,resize=manual");
  ASSERT_EQ(Enter(*partition, 1, {0x1f91, 0xfff012}), kHSuccess);
  ASSERT_TRUE(partition->Reset().ok());
  EXPECT_EQ(partition->GetStatistics().valid, 0u);
  ASSERT_TRUE(partition->Reset(20).ok());
  EXPECT_EQ(partition->order(), 20);
  ASSERT_TRUE(partition->Reset().ok());
  EXPECT_EQ(partition->order(), 18);
}

TEST(Partition, ResetToAnOrderThatCannotBeChangesNothing) {
  const auto partition = MakePartition("order=18");
  ASSERT_EQ(Enter(*partition, 1, {0x1f91, 0xfff012}), kHSuccess);
  for (const int order : {17, 47}) {
    EXPECT_EQ(partition->Reset(order).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(partition->GetStatistics().valid, 1u);
  EXPECT_EQ(partition->order(), 18);
}

TEST(Partition, CheckFindsWhatIsUnsound) {
  const auto partition = MakePartition("order=18");
  ASSERT_EQ(Enter(*partition, 0x3ff0, {0x1f81, 0xfff012}), kHSuccess);
  EXPECT_EQ(partition->Check(10).faults, 0u);
  ASSERT_EQ(Enter(*partition, 0x3ff1, {0x1f81, 0x1000012}), kHSuccess);
  const mmu::TableCheckReport report = partition->Check(10);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].fault, mmu::TableFault::kDuplicate);
  EXPECT_EQ(report.findings[0].ptex, 0x3ff1u);
}

TEST(Partition, DeviceTreeOfTheDefault) {
  const DeviceTree tree = MakePartition("order=22")->GetDeviceTree();
  EXPECT_THAT(tree.pft_size, ElementsAre(0, 22));
  EXPECT_THAT(tree.segment_page_sizes, ElementsAre(12, 0x000, 3, 12, 0, 16, 0x7, 24, 0x38,  //
                                                   16, 0x110, 2, 16, 0x1, 24, 0x8,          //
                                                   24, 0x100, 1, 24, 0x0,                   //
                                                   34, 0x120, 1, 34, 0x3));
  EXPECT_THAT(tree.hypertas_functions,
              testing::UnorderedElementsAre("hcall-pft", "hcall-bulk", "hcall-block-remove",
                                            "hcall-hpt-resize", "hcall-copy", "hcall-clr-hpt",
                                            "hcall-hash-api"));
  EXPECT_THAT(tree.block_remove_characteristics,
              ElementsAre(0x00, 0x06, 0x03, 0x04, 0x00, 0x81, 0xb8, 0x88));
}

// Codes of pairs in the order that the partition lists them.
TEST(Partition, BlockRemoveCharacteristicsFollowThePairs) {
  EXPECT_THAT(MakePartition("block-remove=64K/64K")->GetDeviceTree().block_remove_characteristics,
              ElementsAre(0x00, 0x03, 0x03, 0x01, 0x81));
  EXPECT_THAT(MakePartition("no-block-remove")->GetDeviceTree().block_remove_characteristics,
              ElementsAre(0, 0));
  EXPECT_THAT(MakePartition("block-remove=")->GetDeviceTree().block_remove_characteristics,
              ElementsAre(0, 0));
}

TEST(Partition, BlockRemoveWithoutPairsIsNotOffered) {
  const auto partition = MakePartition("block-remove=");
  const DeviceTree tree = partition->GetDeviceTree();
  EXPECT_THAT(tree.hypertas_functions, testing::Not(testing::Contains("hcall-block-remove")));
  EXPECT_THAT(tree.block_remove_characteristics, ElementsAre(0, 0));
  EXPECT_EQ(Call(*partition, kHBlockRemove, {0, uint64_t{3} << 62}).return_code, kHFunction);
}

TEST(Partition, DeviceTreeOfQemu) {
  const DeviceTree tree = MakePartition("order=22,profile=qemu-tcg")->GetDeviceTree();
  EXPECT_THAT(tree.segment_page_sizes, ElementsAre(12, 0x000, 1, 12, 0, 16, 0x110, 1, 16, 0x1));
  EXPECT_THAT(
      tree.hypertas_functions,
      testing::UnorderedElementsAre("hcall-pft", "hcall-bulk", "hcall-hpt-resize", "hcall-copy"));
  EXPECT_THAT(tree.block_remove_characteristics, ElementsAre(0, 0));
}

TEST(Partition, SwitchedOffFunctionsAreNotAnnounced) {
  const DeviceTree tree =
      MakePartition("no-bulk-remove,no-block-remove,no-resize,no-page-init,no-clear-hpt,no-hash")
          ->GetDeviceTree();
  EXPECT_THAT(tree.hypertas_functions, ElementsAre("hcall-pft"));
  EXPECT_THAT(MakePartition("resize=denied")->GetDeviceTree().hypertas_functions,
              testing::Not(testing::Contains("hcall-hpt-resize")));
}

TEST(Partition, ARadixPartitionHasNoTable) {
  const auto partition = MakePartition("mmu=radix");
  EXPECT_EQ(partition->order(), 0);
  const DeviceTree tree = partition->GetDeviceTree();
  EXPECT_THAT(tree.pft_size, ElementsAre(0, 0));
  EXPECT_THAT(tree.hypertas_functions, ElementsAre("hcall-copy"));
  EXPECT_THAT(tree.block_remove_characteristics, ElementsAre(0, 0));
  EXPECT_EQ(partition->GetStatistics().table_bytes, 0u);
  EXPECT_EQ(partition->Check(10).valid, 0u);
  EXPECT_TRUE(partition->Reset().ok());
  size_t applied = 0;
  const ReferenceChange update = {0, true, true};
  EXPECT_FALSE(partition->SetReferenceChange({&update, 1}, &applied).ok());
}

TEST(Partition, PftSizeFollowsAResize) {
  const auto partition = MakePartition("order=18,resize=manual");
  Call(*partition, kHResizeHptPrepare, {0, 21});
  ASSERT_TRUE(partition->FinishResizePreparation(21, kHSuccess).ok());
  ASSERT_EQ(Call(*partition, kHResizeHptCommit, {0, 21}).return_code, kHSuccess);
  EXPECT_THAT(partition->GetDeviceTree().pft_size, ElementsAre(0, 21));
}

}  // namespace
}  // namespace papr::hcall
