#include "tests/linearizability/schedule.h"

#include <atomic>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace papr::linearizability {
namespace {

using Mode = Schedule::Mode;
using mmu::YieldPointKind;

// Which thread took each step.
std::string Steps(uint64_t seed) {
  Schedule schedule(Mode::kControlled, seed);
  std::string steps;
  schedule.Run(4, "a test", [&](int thread) {
    for (int i = 0; i < 10; ++i) {
      steps += static_cast<char>('a' + thread);  // no lock: one runs at a time
      Schedule::Yield(YieldPointKind::kStep);
    }
  });
  return steps;
}

TEST(Schedule, ASeedRepeatsIt) {
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(Steps(seed), Steps(seed));
}

TEST(Schedule, AnotherSeedIsAnother) {
  int same = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) same += Steps(seed) == Steps(seed + 1) ? 1 : 0;
  EXPECT_LE(same, 2);
}

TEST(Schedule, WhoSpinsLetsOthersGoOn) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Schedule schedule(Mode::kControlled, seed);
    int turn = 2;
    schedule.Run(3, "a test", [&](int thread) {
      while (turn != thread) Schedule::Yield(YieldPointKind::kSpin);
      --turn;
    });
    EXPECT_EQ(turn, -1);
  }
}

TEST(Schedule, FreeRunningRunsAll) {
  Schedule schedule(Mode::kFreeRunning, 1);
  std::atomic<int> sum{0};
  schedule.Run(8, "a test", [&](int thread) {
    for (int i = 0; i < 100; ++i) Schedule::Yield(YieldPointKind::kStep);
    sum += thread;
  });
  EXPECT_EQ(sum, 28);
}

TEST(ScheduleDeathTest, SaysSoIfAllWaitForGood) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto deadlock = [] {
    Schedule schedule(Mode::kControlled, 1);
    schedule.Run(2, "the history of seed 7", [&](int) {
      for (;;) Schedule::Yield(YieldPointKind::kSpin);
    });
  };
  EXPECT_DEATH(deadlock(), "deadlock.*the history of seed 7");
}

}  // namespace
}  // namespace papr::linearizability
