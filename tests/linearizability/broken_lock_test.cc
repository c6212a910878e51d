// A test of the test: an engine that changes entries without their locks is caught.

#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/run_histories.h"

namespace papr::linearizability {
namespace {

static_assert(mmu::kEntryLockBroken);

constexpr uint64_t kMostHistories = 5'000;

void ExpectViolation(Schedule::Mode mode, hcall::Profile profile) {
  const Totals totals = RunHistories(Options().seed, Histories(kMostHistories), {mode, profile});
  std::cout << totals << ", from --seed=" << Options().seed << " on\n" << totals.violation;
  EXPECT_EQ(totals.violations, 1);
}

TEST(BrokenLock, IsCaughtInControlledRuns) {
  ExpectViolation(Schedule::Mode::kControlled, hcall::Profile::kKvmHv);
  ExpectViolation(Schedule::Mode::kControlled, hcall::Profile::kQemuTcg);
}

TEST(BrokenLock, IsCaughtInFreeRuns) {
  ExpectViolation(Schedule::Mode::kFreeRunning, hcall::Profile::kKvmHv);
  ExpectViolation(Schedule::Mode::kFreeRunning, hcall::Profile::kQemuTcg);
}

}  // namespace
}  // namespace papr::linearizability
