// A daemon that takes few hcalls at a time: what is sent to it is cut to fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/connection.h"
#include "client/remote_hypervisor.h"
#include "client/remote_machine.h"
#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

constexpr uint64_t kV = 0x4000123456000001;
constexpr uint64_t kR = 0x1000196;

class HptctlBatchLimitTest : public HptctlTest {
 protected:
  void SetUp() override {
    StartDaemon({"--max_batch_hcalls=7"});
    const auto connection = Connection::Open(target_);
    ASSERT_TRUE(connection.ok());
    connection_ = *connection;
  }
  std::unique_ptr<RemoteMachine> MakeMachine() const {
    hcall::PartitionConfig config;
    config.order = 18;
    config.memory = {{0, uint64_t{1} << 30, hcall::MemoryRegion::Kind::kRam}};
    auto machine = RemoteMachine::Create(connection_, "limited", config);
    EXPECT_TRUE(machine.ok()) << machine.status();
    return machine.ok() ? *std::move(machine) : nullptr;
  }

  std::shared_ptr<Connection> connection_;
};

// H_ENTERs at the slots from `first` on.
std::vector<hcall::HcallRequest> Enters(uint64_t first, size_t count) {
  std::vector<hcall::HcallRequest> requests;
  for (size_t i = 0; i < count; ++i) {
    requests.push_back(MakeHcall(hcall::kHEnter, {hcall::kFlagExact, first + i, kV, kR}));
  }
  return requests;
}

TEST_F(HptctlBatchLimitTest, ALongBatchGoesInPiecesAndRunsOnce) {
  const auto machine = MakeMachine();
  const auto hypervisor = machine->MakeHypervisor();
  std::vector<hcall::HcallResult> results;
  const auto requests = Enters(0x100, 24);
  ASSERT_TRUE(hypervisor->HcallBatch(requests, hcall::BatchMode::kAll, &results).ok());
  ASSERT_EQ(results.size(), 24u);
  for (size_t i = 0; i < results.size(); ++i) {
    // A second H_ENTER of a slot would have found it taken.
    EXPECT_EQ(results[i].return_code, hcall::kHSuccess) << i;
    EXPECT_EQ(results[i].registers[0], 0x100 + i);
  }
  EXPECT_EQ(hypervisor->round_trips(), 4u) << "7, 7, 7, 3";
  EXPECT_EQ(machine->GetStatistics()->valid, 24u);
  // The limit is remembered.
  ASSERT_TRUE(hypervisor->HcallBatch(Enters(0x200, 8), hcall::BatchMode::kAll, &results).ok());
  EXPECT_EQ(hypervisor->round_trips(), 6u);
  ASSERT_TRUE(hypervisor->HcallBatch({}, hcall::BatchMode::kAll, &results).ok());
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(hypervisor->round_trips(), 7u);
}

TEST_F(HptctlBatchLimitTest, StoppingAtAnErrorStopsThePiecesThatFollow) {
  const auto machine = MakeMachine();
  // In the middle of a piece, and as its last hcall.
  for (const size_t bad : {size_t{9}, size_t{13}}) {
    const auto hypervisor = machine->MakeHypervisor();
    ASSERT_TRUE(machine->Reset(std::nullopt).ok());
    std::vector<hcall::HcallRequest> requests = Enters(0x100, 24);
    requests[bad] = requests[0];  // the slot is taken by then
    std::vector<hcall::HcallResult> results;
    ASSERT_TRUE(
        hypervisor->HcallBatch(requests, hcall::BatchMode::kStopAtFirstError, &results).ok());
    ASSERT_EQ(results.size(), bad + 1);
    EXPECT_EQ(results.back().return_code, hcall::kHPtegFull);
    EXPECT_EQ(machine->GetStatistics()->valid, bad);
  }
}

TEST_F(HptctlBatchLimitTest, ReferenceAndChangeUpdatesToo) {
  const auto machine = MakeMachine();
  std::vector<hcall::HcallResult> results;
  std::vector<hcall::HcallRequest> enters = Enters(0x100, 20);
  for (auto& enter : enters) enter.registers[3] &= ~uint64_t{0x180};  // R and C clear
  ASSERT_TRUE(machine->MakeHypervisor()->HcallBatch(enters, hcall::BatchMode::kAll, &results).ok());
  std::vector<hcall::ReferenceChange> updates;
  for (uint64_t i = 0; i < 20; ++i) updates.push_back({0x100 + i, true, true});
  ASSERT_TRUE(machine->SetReferenceChange(updates).ok());
  for (uint64_t i = 0; i < 20; ++i) {
    const auto read = machine->MakeHypervisor()->Hcall(MakeHcall(hcall::kHRead, {0, 0x100 + i}));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->registers[1], kR) << i;
  }
}

TEST_F(HptctlBatchLimitTest, EveryCommandWorks) {
  const std::string traces = std::string(TEST_DATA_DIR) + "/conformance/traces/";
  const auto replays = RunJson({"replay", traces + "hugetlb-6.1-64k-16m.trace.zst",
                                traces + "kvm-htab-stream.trace.zst"})["replays"];
  ASSERT_EQ(replays.size(), 2u);
  for (const auto& replay : replays) {
    EXPECT_EQ(replay["mismatches"], 0);
    EXPECT_EQ(replay["final_compared"], true);
  }
  const auto rows = RunJson({"experiment", "slot-tracking", "--iterations", "1", "--megabytes",
                             "16", "--mode", "slot", "--transport", "batch"})["rows"];
  EXPECT_EQ(rows[0]["hcalls_per_iteration"], 320);

  const auto machine = MakeMachine();
  std::vector<hcall::HcallResult> results;
  ASSERT_TRUE(machine->MakeHypervisor()
                  ->HcallBatch(Enters(0x1000, 20), hcall::BatchMode::kAll, &results)
                  .ok());
  EXPECT_EQ(RunJson({"dump", "--partition", "limited"})["entries"].size(), 20u);
}

}  // namespace
}  // namespace papr::client
