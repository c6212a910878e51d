// Resizes under load, scheduled at every yield point of the engine.

#include <string>

#include "gtest/gtest.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/resize_load.h"
#include "tests/linearizability/schedule.h"

namespace papr::linearizability {
namespace {

using hcall::Profile;
using hcall::ResizePreparation;
using Mode = Schedule::Mode;

constexpr uint64_t kSeeds = 300;
constexpr int kCommits = 4;
constexpr int kCalls = 30;  // of each other thread, at least

void ResizeUnderLoad(Mode mode, ResizePreparation preparation, uint64_t seeds) {
  for (uint64_t seed = Options().seed; seed < Options().seed + seeds; ++seed) {
    const Profile profile = seed % 2 == 0 ? Profile::kKvmHv : Profile::kQemuTcg;
    ResizeLoad load(seed, profile, preparation);
    const int threads = static_cast<int>(2 + seed / 2 % 4);
    const std::string name = "resize_test --histories=1 --seed=" + std::to_string(seed);
    Schedule(mode, seed).Run(threads, name, [&](int thread) {
      thread == 0 ? load.Resize(kCommits) : load.Use(thread, kCalls);
    });
    ASSERT_EQ(load.Verdict(), "") << name;
  }
}

TEST(ResizeUnderLoad, ScheduledAndFinishedByHand) {
  ResizeUnderLoad(Mode::kControlled, ResizePreparation::kManual, Histories(kSeeds));
}

// The thread that prepares the table runs beside the schedule: a seed nearly repeats a run.
TEST(ResizeUnderLoad, ScheduledAndPreparedInTheBackground) {
  ResizeUnderLoad(Mode::kControlled, ResizePreparation::kBackground, Histories(kSeeds) / 3 + 1);
}

TEST(ResizeUnderLoad, FreeRunning) {
  ResizeUnderLoad(Mode::kFreeRunning, ResizePreparation::kBackground, Histories(kSeeds) / 3 + 1);
}

}  // namespace
}  // namespace papr::linearizability
