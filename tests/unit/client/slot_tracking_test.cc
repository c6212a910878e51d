// The hcalls of the slot-tracking experiment, exactly.

#include "client/workload/slot_tracking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace papr::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<SlotTrackingRow> RunLocally(const SlotTrackingOptions& options) {
  auto machine = CreateMachine(kLocalTarget, "test", SlotTrackingPartition(options));
  EXPECT_TRUE(machine.ok()) << machine.status();
  auto rows = RunSlotTracking(options, machine->get());
  EXPECT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(machine->get()->GetStatistics()->valid, 0u) << "an iteration leaves no entry";
  return rows.ok() ? *rows : std::vector<SlotTrackingRow>();
}

TEST(SlotTrackingTest, CountsOf128MegabytesIn64KPages) {
  SlotTrackingOptions options;
  options.iterations = 3;
  const auto rows = RunLocally(options);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].mode, "slot");
  EXPECT_EQ(rows[0].hcalls_per_iteration, 2560);
  EXPECT_EQ(rows[0].hcalls_per_page, 1.25);
  EXPECT_THAT(rows[0].hcalls,
              ElementsAre(Pair("H_BULK_REMOVE", 3 * 512), Pair("H_ENTER", 3 * 2048)));
  EXPECT_EQ(rows[1].mode, "find");
  EXPECT_EQ(rows[1].hcalls_per_iteration, 4608);
  EXPECT_THAT(rows[1].hcalls, ElementsAre(Pair("H_BULK_REMOVE", 3 * 512), Pair("H_ENTER", 3 * 2048),
                                          Pair("H_READ", 3 * 2048)));
  EXPECT_EQ(rows[1].reads_per_find, 1.0);
  EXPECT_EQ(rows[2].mode, "hash");
  EXPECT_EQ(rows[2].hcalls_per_iteration, 2560);
  EXPECT_THAT(rows[2].hcalls,
              ElementsAre(Pair("H_ENTER", 3 * 2048), Pair("H_HASH_BULK_REMOVE", 3 * 512)));
  for (const auto& row : rows) {
    EXPECT_EQ(row.iterations, 3);
    EXPECT_EQ(row.transport, "local");
    EXPECT_EQ(row.round_trips, 0u);
    EXPECT_GT(row.seconds, 0);
  }
}

TEST(SlotTrackingTest, CountsOf128MegabytesIn4KPages) {
  SlotTrackingOptions options;
  options.iterations = 1;
  options.page_shift = mmu::k4K;
  options.modes = {guest::SlotMode::kSlot};
  const auto rows = RunLocally(options);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].hcalls_per_iteration, 40960);
  EXPECT_EQ(rows[0].hcalls.at("H_BULK_REMOVE"), 8192u);
}

TEST(SlotTrackingTest, AMappingOffTheSectionsCostsOneMore) {
  SlotTrackingOptions options;
  options.iterations = 1;
  options.modes = {guest::SlotMode::kSlot};
  for (const uint64_t offset : {1, 2, 3, 5}) {
    options.offset_pages = offset;
    EXPECT_EQ(RunLocally(options)[0].hcalls_per_iteration, 2561) << offset;
  }
  options.offset_pages = 4;
  EXPECT_EQ(RunLocally(options)[0].hcalls_per_iteration, 2560);
}

// In the smallest table 128 MB of 4K pages meet full PTEGs: the counts follow what happens.
TEST(SlotTrackingTest, ASmallTableEvictsAndStaysSound) {
  SlotTrackingOptions options;
  options.iterations = 2;
  options.hpt_order = 18;
  options.page_shift = mmu::k4K;
  const auto rows = RunLocally(options);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_GT(rows[0].hcalls.at("H_REMOVE"), 0u);
  EXPECT_GT(*rows[1].reads_per_find, 1.0);
  EXPECT_LE(*rows[1].reads_per_find, 4.0);
}

TEST(SlotTrackingTest, BareMetalMakesNoHcalls) {
  SlotTrackingOptions options;
  options.iterations = 2;
  options.platform = GuestPlatform::kPowernv;
  options.clear_pages = true;
  options.megabytes = 16;
  const auto rows = RunSlotTracking(options, nullptr);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].mode, "direct");
  EXPECT_FALSE((*rows)[0].clear_pages);
  EXPECT_TRUE((*rows)[1].clear_pages);
  EXPECT_TRUE((*rows)[0].hcalls.empty());
  EXPECT_GT((*rows)[1].seconds, (*rows)[0].seconds);
}

TEST(SlotTrackingTest, RatiosComeWithElevenIterations) {
  SlotTrackingOptions options;
  options.iterations = 11;
  options.megabytes = 1;
  const auto rows = RunLocally(options);
  EXPECT_FALSE(rows[0].ratio_to_first.has_value());
  ASSERT_TRUE(rows[1].ratio_to_first.has_value());
  EXPECT_EQ(rows[1].ratio_to_first->pairs, 11u);
}

TEST(SlotTrackingTest, HashModeIsRefusedWithoutTheCalls) {
  SlotTrackingOptions options;
  hcall::PartitionConfig config = SlotTrackingPartition(options);
  config.features.hash = false;
  auto machine = CreateMachine(kLocalTarget, "test", config);
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(RunSlotTracking(options, machine->get()).status()));
}

TEST(SlotTrackingTest, WithoutBulkRemovalEveryPageCostsOne) {
  SlotTrackingOptions options;
  options.iterations = 1;
  options.modes = {guest::SlotMode::kSlot};
  hcall::PartitionConfig config = SlotTrackingPartition(options);
  config.features.bulk_remove = false;
  auto machine = CreateMachine(kLocalTarget, "test", config);
  ASSERT_TRUE(machine.ok()) << machine.status();
  const auto rows = RunSlotTracking(options, machine->get());
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)[0].hcalls_per_iteration, 4096);
}

TEST(SlotTrackingTest, OptionsThatCannotBeAreNamed) {
  SlotTrackingOptions options;
  options.hpt_order = 17;
  EXPECT_TRUE(absl::IsInvalidArgument(options.Validate()));
  options = {};
  options.iterations = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(options.Validate()));
  options = {};
  options.offset_pages = 256;
  EXPECT_TRUE(absl::IsInvalidArgument(options.Validate()));
  options.offset_pages = 255;
  EXPECT_TRUE(options.Validate().ok());
}

}  // namespace
}  // namespace papr::client
