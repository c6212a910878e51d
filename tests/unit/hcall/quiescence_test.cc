#include "hcall/quiescence.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

// Shared holders see a change of structure whole or not at all, and Exclusive holders are alone.
TEST(Quiescence, ExclusiveIsAloneSharedIsNot) {
  Quiescence quiescence;
  int first = 0;
  int second = 0;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const Quiescence::Shared guard(quiescence);
        EXPECT_EQ(first, second);
        ++looks;
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const Quiescence::Exclusive guard(quiescence);
        ++first;
        std::this_thread::yield();
        ++second;
      }
      // A busy machine may have let no one else in so far.
      while (looks == 0) std::this_thread::yield();
      stop = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first, 4000);
  EXPECT_EQ(second, 4000);
}

}  // namespace
}  // namespace papr::hcall
