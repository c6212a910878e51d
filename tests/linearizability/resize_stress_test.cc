// Resizes under load on the engine as it is shipped, without yield points.

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/resize_load.h"

namespace papr::linearizability {
namespace {

constexpr int kThreads = 3;  // beside the one that resizes
constexpr int kCalls = 100;

TEST(ResizeStress, NothingIsLostAndNothingComesBack) {
  const int commits = static_cast<int>(Histories(100));
  for (const hcall::Profile profile : {hcall::Profile::kKvmHv, hcall::Profile::kQemuTcg}) {
    ResizeLoad load(Options().seed, profile, hcall::ResizePreparation::kBackground);
    std::vector<std::thread> threads;
    threads.emplace_back([&] { load.Resize(commits); });
    for (int i = 1; i <= kThreads; ++i) threads.emplace_back([&, i] { load.Use(i, kCalls); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(load.Verdict(), "") << "of --seed=" << Options().seed;
  }
}

}  // namespace
}  // namespace papr::linearizability
