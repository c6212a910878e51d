// The pair model against the reference model of tests/model, which is compared with the engine on
// every argument: what one thread alone does has an order, its own; and one wrong bit in an answer
// of it has none.

#include "tests/linearizability/split.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/linearizability/checker.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/workload.h"
#include "tests/model/reference_model.h"

namespace papr::linearizability {
namespace {

constexpr uint64_t kRuns = 300;
constexpr uint64_t kActions = 40;

class Split : public testing::TestWithParam<hcall::Profile> {
 protected:
  bool qemu() const { return GetParam() == hcall::Profile::kQemuTcg; }

  // What the reference model answers to the workload of `seed`, one call after another.
  History Sequential(uint64_t seed) const {
    const auto partition = MakePartition(GetParam());
    model::ReferenceModel reference(partition->config());
    Workload workload(seed, GetParam());
    History history;
    for (const Action& action : workload.Setup()) Run(reference, action, history);
    for (uint64_t i = 0; i < kActions; ++i) Run(reference, workload.Next(), history);
    for (const Action& action : workload.Readout()) Run(reference, action, history);
    return history;
  }

  static void Run(model::ReferenceModel& reference, const Action& action, History& history) {
    Operation operation;
    const auto add = [&] {
      operation.called = 2 * history.size();
      operation.returned = operation.called + 1;
      history.push_back(operation);
    };
    if (action.walk.has_value()) {
      operation.walk = action.walk;
      operation.walk_found = reference.SetReferenceChange(*action.walk);
      add();
    }
    for (const hcall::HcallRequest& request : action.hcalls) {
      operation.request = request;
      operation.result = reference.Hcall(request);
      // The reference model knows only one processor, and so no lock that is held.
      add();
    }
  }

  bool Linearizable(const History& history) const {
    const auto pairs = linearizability::Split(history, {.group_mask = 0x7ff, .qemu = qemu()});
    if (!pairs.ok()) return false;
    for (const auto& [pair, steps] : *pairs) {
      const model::Entry ground{qemu() ? model::kDirty : 0, 0};
      if (!Check(steps, ground).linearizable) return false;
    }
    return true;
  }
};

TEST_P(Split, AgreesWithTheReferenceModel) {
  for (uint64_t seed = Options().seed; seed < Options().seed + kRuns; ++seed) {
    ASSERT_TRUE(Linearizable(Sequential(seed))) << "of --seed=" << seed;
  }
}

TEST_P(Split, EveryOutputMatters) {
  for (uint64_t seed = Options().seed; seed < Options().seed + kRuns / 10; ++seed) {
    History history = Sequential(seed);
    const size_t changed = seed % history.size();
    if (history[changed].walk.has_value()) {
      history[changed].walk_found = !history[changed].walk_found;
      EXPECT_FALSE(Linearizable(history)) << Describe(history[changed]) << " of --seed=" << seed;
      continue;
    }
    for (int i = 0; i < hcall::kRegisterCount; ++i) {
      uint64_t& output = history[changed].result.registers[i];
      output ^= 0x400000;
      EXPECT_FALSE(Linearizable(history))
          << "output " << i << " of " << Describe(history[changed]) << " of --seed=" << seed;
      output ^= 0x400000;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Split,
                         testing::Values(hcall::Profile::kKvmHv, hcall::Profile::kQemuTcg),
                         [](const auto& one) {
                           return one.param == hcall::Profile::kQemuTcg ? "Qemu" : "Kvm";
                         });

}  // namespace
}  // namespace papr::linearizability
