// The differential run and the shrinker, without QEMU: two machines of this process, one of which
// lies about one thing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "client/local_machine.h"
#include "hcall/partition_spec.h"
#include "tests/conformance/qemu/comparable_hcalls.h"
#include "tests/conformance/qemu/differential_run.h"
#include "tests/conformance/qemu/differential_step.h"
#include "tests/conformance/qemu/shrink.h"
#include "tests/conformance/qemu/vector_text.h"
#include "tests/model/reference_model.h"

namespace papr::conformance {
namespace {

using client::MakeHcall;
using hcall::HcallRequest;
using hcall::HcallResult;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kFixture = "order=18,ram=0:256M,page-sizes=qemu";
constexpr uint64_t kV = 0x0000000123456001;
constexpr uint64_t kPtex = 0x3fe8;
constexpr uint64_t kR = 0x0000000001234012;

// Where every entry stays in its slot.
constexpr std::string_view kWithoutResize = "order=21,ram=0:256M,page-sizes=qemu,resize=denied";

hcall::PartitionConfig Config(std::string_view fixture = kFixture) {
  return hcall::ParsePartitionSpec(std::string(fixture) + ",profile=qemu-tcg")->config;
}

// Changes an answer, or leaves it.
using Lie = std::function<void(const HcallRequest&, HcallResult&)>;

class LyingHypervisor : public client::Hypervisor {
 public:
  LyingHypervisor(std::unique_ptr<Hypervisor> honest, Lie lie)
      : honest_(std::move(honest)), lie_(std::move(lie)) {}

  absl::StatusOr<HcallResult> Hcall(const HcallRequest& request) override {
    auto result = honest_->Hcall(request);
    if (result.ok()) lie_(request, *result);
    return result;
  }
  absl::Status HcallBatch(std::span<const HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<HcallResult>* results) override {
    const absl::Status status = honest_->HcallBatch(requests, mode, results);
    for (size_t i = 0; i < results->size(); ++i) lie_(requests[i], (*results)[i]);
    return status;
  }
  uint64_t round_trips() const override { return 0; }

 private:
  const std::unique_ptr<Hypervisor> honest_;
  const Lie lie_;
};

class LyingMachine : public client::Machine {
 public:
  LyingMachine(std::unique_ptr<Machine> honest, Lie lie)
      : honest_(std::move(honest)), lie_(std::move(lie)) {}

  std::string_view target() const override { return "liar"; }
  std::unique_ptr<client::Hypervisor> MakeHypervisor() override {
    return std::make_unique<LyingHypervisor>(honest_->MakeHypervisor(), lie_);
  }
  absl::Status Reset(std::optional<int> order) override { return honest_->Reset(order); }
  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override {
    return honest_->SetReferenceChange(updates);
  }
  absl::Status FinishResizePreparation(int order, int64_t return_code) override {
    return honest_->FinishResizePreparation(order, return_code);
  }
  absl::StatusOr<hcall::HptStatistics> GetStatistics() override { return honest_->GetStatistics(); }
  absl::StatusOr<mmu::TableCheckReport> Check(size_t max_findings) override {
    return honest_->Check(max_findings);
  }
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override { return honest_->GetDeviceTree(); }

 private:
  const std::unique_ptr<Machine> honest_;
  const Lie lie_;
};

MachinePair Machines(Lie lie, const hcall::PartitionConfig& config = Config()) {
  return {[config]() -> absl::StatusOr<std::unique_ptr<client::Machine>> {
            return client::LocalMachine::Create(config);
          },
          [lie, config]() -> absl::StatusOr<std::unique_ptr<client::Machine>> {
            auto honest = client::LocalMachine::Create(config);
            if (!honest.ok()) return honest.status();
            return std::make_unique<LyingMachine>(*std::move(honest), lie);
          }};
}

void NoLie(const HcallRequest&, HcallResult&) {}

// H_REMOVE of a bolted entry says that there is none.
void LieAboutBolted(const HcallRequest& request, HcallResult& result) {
  if (request.opcode != hcall::kHRemove || result.return_code != hcall::kHSuccess) return;
  if ((result.registers[0] & mmu::kVBolted) == 0) return;
  result = {.return_code = hcall::kHNotFound, .output_count = 0, .registers = request.registers};
}

// H_READ of a changed entry hides C.
void LieAboutChange(const HcallRequest& request, HcallResult& result) {
  if (request.opcode != hcall::kHRead || result.return_code != hcall::kHSuccess) return;
  for (int i = 1; i < result.output_count; i += 2) result.registers[i] &= ~mmu::kRChanged;
}

// Those of a random sequence that can be compared, whatever the machines answer.
DifferentialSteps RandomSteps(const hcall::PartitionConfig& config, uint64_t seed, size_t count) {
  const auto run = DifferentialRun::Start(config, Machines(NoLie, config));
  ComparableHcalls generator(seed, config);
  DifferentialSteps steps;
  while (steps.size() < count) {
    steps.push_back(generator.Next((*run)->state()));
    (*run)->Plan(steps.back());
  }
  return steps;
}

TEST(DifferentialRun, EqualMachinesDoNotDiffer) {
  const DifferentialSteps steps = RandomSteps(Config(), std::random_device{}(), 3000);
  const ReplayResult replay = Replay(Config(), Machines(NoLie), steps);
  EXPECT_EQ(replay.difference, "");
  EXPECT_EQ(replay.records.size(), steps.size());
}

TEST(DifferentialRun, ALieInAnAnswerIsShrunkToTheStepsThatItNeeds) {
  const hcall::PartitionConfig config = Config(kWithoutResize);
  const MachinePair machines = Machines(LieAboutBolted, config);
  const uint64_t seed = std::random_device{}();
  const DifferentialSteps steps = RandomSteps(config, seed, 3000);
  ASSERT_NE(Replay(config, machines, steps).difference, "") << seed;
  const ReplayResult shortest = ShortestDifference(config, machines, steps);
  const std::string text = VectorText(kWithoutResize, "a lie", shortest);
  ASSERT_EQ(shortest.records.size(), 2) << seed << "\n" << text;
  const auto& enter = std::get<HcallRequest>(shortest.records[0].step);
  const auto& remove = std::get<HcallRequest>(shortest.records[1].step);
  EXPECT_EQ(enter.opcode, hcall::kHEnter);
  EXPECT_EQ(remove.opcode, hcall::kHRemove);
  EXPECT_EQ(enter.registers[8] | remove.registers[8], 0) << text;

  EXPECT_THAT(text, HasSubstr("fixture order=21,ram=0:256M,page-sizes=qemu,resize=denied\n"
                              "profiles qemu-tcg\n"));
  EXPECT_THAT(text, HasSubstr("  H_ENTER "));
  EXPECT_THAT(text, HasSubstr("  H_REMOVE "));
  EXPECT_THAT(text, HasSubstr("# liar: H_NOT_FOUND"));
}

TEST(DifferentialRun, ALieThatOnlyTheTableShowsIsShrunkToo) {
  const MachinePair machines = Machines(LieAboutChange);
  const DifferentialSteps steps = {
      MakeHcall(hcall::kHEnter, {hcall::kFlagExact, kPtex + 1, kV | mmu::kVBolted, kR}),
      MakeHcall(hcall::kHEnter, {hcall::kFlagExact, kPtex, kV, kR}),
      MakeHcall(hcall::kHProtect, {1, kPtex + 1}),
      hcall::ReferenceChange{kPtex, true, true},
      MakeHcall(hcall::kHRemove, {0, kPtex + 1}),
  };
  const std::string text =
      VectorText(kFixture, "a lie", ShortestDifference(Config(), machines, steps));
  EXPECT_THAT(text, Not(HasSubstr("H_PROTECT"))) << text;
  EXPECT_THAT(text, Not(HasSubstr("H_REMOVE"))) << text;
  EXPECT_THAT(text, HasSubstr("  touch 0x3fe8 RC\n"));
  EXPECT_THAT(text, HasSubstr("  H_READ r4=0x2000000000 r5=0x3fe8\n    -> H_SUCCESS r4=0x123456041 "
                              "r5=0x1234192 r6=0x40 r8=0x40 r10=0x40 rest=same\n"));
}

TEST(DifferentialRun, APreparationIsAwaitedAndPrintedAsAPoll) {
  const DifferentialSteps steps = {MakeHcall(hcall::kHResizeHptPrepare, {0, 19}),
                                   MakeHcall(hcall::kHResizeHptCommit, {0, 19})};
  const ReplayResult replay = Replay(Config(), Machines(NoLie), steps);
  EXPECT_EQ(replay.difference, "");
  EXPECT_EQ(VectorText(kFixture, "resize", replay),
            "fixture order=18,ram=0:256M,page-sizes=qemu\nprofiles qemu-tcg\n\ncase resize\n"
            "  H_RESIZE_HPT_PREPARE r5=0x13\n    -> H_LONG_BUSY_ORDER_100_MSEC rest=same\n"
            "  poll H_RESIZE_HPT_PREPARE r5=0x13\n    -> H_SUCCESS rest=same\n"
            "  H_RESIZE_HPT_COMMIT r5=0x13\n    -> H_SUCCESS rest=same\n");
}

// What may not reach QEMU.
TEST(IsComparable, LeavesOutWhatIsNotAboutTheTable) {
  const model::ReferenceModel state(Config());
  const auto comparable = [&](HcallRequest request) {
    return IsComparable(Config(), state, request);
  };
  for (const uint64_t opcode : {0x08, 0x10, 0x328, 0xf900, 0x05, 0x47f, 0x500, 0xfffc}) {
    EXPECT_TRUE(comparable({.opcode = opcode})) << opcode;
  }
  // H_RTAS, H_CEDE, H_REGISTER_VPA, client-architecture-support, nested machines.
  for (const uint64_t opcode : {0xf000, 0xe0, 0xdc, 0xf002, 0xf800, 0x24, 0xef10}) {
    EXPECT_FALSE(comparable({.opcode = opcode})) << opcode;
  }
  EXPECT_FALSE(comparable({.opcode = hcall::kHRead, .problem_state = true}));
  EXPECT_TRUE(comparable(MakeHcall(hcall::kHPageInit, {hcall::kFlagZeroPage, 0x5000})));
  EXPECT_FALSE(comparable(MakeHcall(hcall::kHPageInit, {hcall::kFlagZeroPage, 0x3000000})));
}

TEST(IsComparable, LeavesOutCommitsThatEndQemu) {
  const auto commit_after = [](uint64_t ptex, uint64_t v) {
    model::ReferenceModel state(Config());
    const uint64_t r = (v & mmu::kVLarge) != 0 ? 0x1012 : kR;
    state.Hcall(MakeHcall(hcall::kHEnter, {hcall::kFlagExact, ptex, v, r}));
    state.Hcall(MakeHcall(hcall::kHResizeHptPrepare, {0, 19}));
    return IsComparable(Config(), state, MakeHcall(hcall::kHResizeHptCommit, {0, 19}));
  };
  EXPECT_TRUE(commit_after(kPtex, kV));
  EXPECT_TRUE(commit_after(kPtex, kV | mmu::kVBolted));
  EXPECT_FALSE(commit_after(0x10, kV | mmu::kVBolted | mmu::kVSecondary));
  // A 64K page in a group that its hash does not give: the AVPN leaves only 7 bits open.
  EXPECT_TRUE(commit_after(0x8, mmu::kVLarge | mmu::kVBolted | mmu::kVValid));
  EXPECT_FALSE(commit_after(0x2000, mmu::kVLarge | mmu::kVBolted | mmu::kVValid));
}

}  // namespace
}  // namespace papr::conformance
