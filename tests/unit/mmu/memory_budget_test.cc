#include "mmu/memory_budget.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

TEST(MemoryBudget, TakesUpToTheLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.Charge(60));
  EXPECT_FALSE(budget.Charge(41));
  EXPECT_EQ(budget.used(), 60u);
  EXPECT_TRUE(budget.Charge(40));
  EXPECT_FALSE(budget.Charge(1));
  EXPECT_TRUE(budget.Charge(0));
  budget.Refund(100);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_FALSE(budget.Charge(~uint64_t{0}));
  EXPECT_EQ(budget.limit(), 100u);
}

TEST(MemoryBudget, ThreadsNeverPassTheLimit) {
  MemoryBudget budget(1000);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) taken += budget.Charge(1) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1000);
  EXPECT_EQ(budget.used(), 1000u);
}

}  // namespace
}  // namespace papr::mmu
