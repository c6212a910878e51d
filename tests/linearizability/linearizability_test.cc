// Concurrent hypercalls on a small table are linearizable: every answer is one that the hypercalls
// could have given one after another, in an order that agrees with their times.

#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/run_histories.h"

namespace papr::linearizability {
namespace {

constexpr uint64_t kUsualHistories = 3'000;  // of each kind

struct Kind {
  const char* name;
  HistoryKind kind;
};
constexpr Kind kKinds[] = {
    {"ControlledKvm", {Schedule::Mode::kControlled, hcall::Profile::kKvmHv}},
    {"ControlledQemu", {Schedule::Mode::kControlled, hcall::Profile::kQemuTcg}},
    {"FreeRunningKvm", {Schedule::Mode::kFreeRunning, hcall::Profile::kKvmHv}},
    {"FreeRunningQemu", {Schedule::Mode::kFreeRunning, hcall::Profile::kQemuTcg}},
};

class Linearizability : public testing::TestWithParam<Kind> {};

TEST_P(Linearizability, EveryHistoryHasAnOrder) {
  const HistoryKind& kind = GetParam().kind;
  const Totals totals = RunHistories(Options().seed, Histories(kUsualHistories), kind);
  std::cout << totals << ", from --seed=" << Options().seed << " on\n";
  RecordProperty("histories", std::to_string(totals.histories));
  RecordProperty("operations", std::to_string(totals.operations));
  RecordProperty("overlapped_pairs", std::to_string(totals.overlaps));
  RecordProperty("overlapped_pairs_on_one_entry", std::to_string(totals.entry_overlaps));
  EXPECT_EQ(totals.violations, 0) << totals.violation
                                  << "Again with --histories=1 --seed=" << totals.violation_seed;
  // Calls that do not overlap prove nothing.
  EXPECT_GT(totals.overlaps, 10 * totals.histories);
  EXPECT_GT(totals.entry_overlaps, totals.histories / 2);
}

INSTANTIATE_TEST_SUITE_P(Histories, Linearizability, testing::ValuesIn(kKinds),
                         [](const auto& one) { return std::string(one.param.name); });

// A seed is worth printing only if it brings its history back.
TEST(RecordHistory, ASeedRepeatsAControlledHistory) {
  for (uint64_t seed = Options().seed; seed < Options().seed + 20; ++seed) {
    const History one = RecordHistory(seed, kKinds[0].kind);
    const History other = RecordHistory(seed, kKinds[0].kind);
    ASSERT_EQ(one.size(), other.size());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(Describe(one[i]), Describe(other[i]));
  }
}

}  // namespace
}  // namespace papr::linearizability
