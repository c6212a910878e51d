// Partitions that come and go while threads issue hcalls on them and the metrics are read: what the
// gRPC services do, without gRPC.

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/hcall_runner.h"
#include "server/hpt_metrics.h"
#include "server/partition_registry.h"

namespace papr::server {
namespace {

constexpr uint64_t kV = 0x1f80;
constexpr uint64_t kR = 0x192;

hcall::PartitionConfig Config() {
  hcall::PartitionConfig config;
  config.order = 18;
  config.memory.push_back({0, 64 << 20, hcall::MemoryRegion::Kind::kRam});
  return config;
}

hcall::HcallRequest Call(uint64_t opcode, uint64_t flags, uint64_t ptex) {
  hcall::HcallRequest request;
  request.opcode = opcode;
  request.registers = {flags, ptex, kV, kR};
  return request;
}

class ServingTest : public ::testing::Test {
 protected:
  // Value of a counter of `family`, summed over every series that has the label.
  double Counted(const std::string& family, const std::string& label, const std::string& value) {
    double sum = 0;
    for (const auto& collected : metrics_->Collect()) {
      if (collected.name != family) continue;
      for (const auto& metric : collected.metric) {
        for (const auto& pair : metric.label) {
          if (pair.name == label && pair.value == value) sum += metric.counter.value;
        }
      }
    }
    return sum;
  }

  Limits limits_;
  std::shared_ptr<HcallMetrics> metrics_ = std::make_shared<HcallMetrics>(1);
  std::shared_ptr<WorkerPool> workers_ = std::make_shared<WorkerPool>(2, 1000);
  std::shared_ptr<PartitionRegistry> registry_ =
      std::make_shared<PartitionRegistry>(limits_, metrics_, workers_);
  HcallRunner runner_{metrics_};
};

TEST_F(ServingTest, NothingIsLostWhilePartitionsComeAndGo) {
  ASSERT_TRUE(registry_->Create("first", Config()).ok());  // takes the only label
  constexpr int kThreads = 3;
  constexpr int kRounds = 300;
  std::atomic<uint64_t> ran{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const auto served = registry_->Find("shared");
        if (served == nullptr) continue;
        const auto ptex = static_cast<uint64_t>(8 * (t + i % 100));
        runner_.Run(*served, Call(hcall::kHEnter, 0, ptex), HcallRpc::kHcall);
        const std::vector<hcall::HcallRequest> batch(4, Call(hcall::kHRead, 0, ptex));
        std::vector<hcall::HcallResult> results(batch.size());
        ran += 1 + runner_.RunBatch(*served, batch, hcall::BatchMode::kAll, results,
                                    HcallRpc::kHcallBatch);
      }
    });
  }
  std::thread scraper([&] {
    const HptMetrics tables(registry_);
    double before = 0;
    while (!done) {
      const double now = Counted("hptd_hcalls_total", "partition", "other");
      EXPECT_GE(now, before);
      before = now;
      tables.Collect();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(registry_->Create("shared", Config()).ok());
    std::this_thread::yield();
    EXPECT_NE(registry_->Remove("shared"), nullptr);
  }
  for (std::thread& caller : callers) caller.join();
  done = true;
  scraper.join();
  EXPECT_EQ(Counted("hptd_hcalls_total", "partition", "other"), static_cast<double>(ran));
  EXPECT_EQ(registry_->size(), 1U);
}

TEST_F(ServingTest, ATableIsGivenBackWhenTheLastCallLetsGo) {
  auto served = *registry_->Create("p", Config());
  EXPECT_EQ(registry_->hpt_budget().used(), uint64_t{1} << 18);
  EXPECT_EQ(registry_->Remove("p"), served);
  EXPECT_EQ(registry_->Find("p"), nullptr);
  EXPECT_EQ(runner_.Run(*served, Call(hcall::kHEnter, 0, 0), HcallRpc::kHcall).return_code, 0);
  served.reset();
  workers_.reset();
  registry_.reset();
}

TEST_F(ServingTest, OnlyOneOfManyCreatesAName) {
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        created += registry_->Create(absl::StrCat("p", i), Config()).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 50);
  EXPECT_EQ(registry_->size(), 50U);
  EXPECT_EQ(registry_->hpt_budget().used(), uint64_t{50} << 18);
}

TEST(WorkerPoolTest, RunsWhatWasSubmittedBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    WorkerPool pool(2, 1000);
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(pool.Submit([&ran] {
        EXPECT_TRUE(WorkerPool::OnWorkerThread());
        ++ran;
      }));
    }
  }
  EXPECT_EQ(ran, 100);
}

TEST(WorkerPoolTest, RefusesWhatIsTooMuch) {
  std::mutex gate;
  std::unique_lock<std::mutex> closed(gate);
  std::atomic<bool> begun{false};
  WorkerPool pool(1, 2);
  EXPECT_TRUE(pool.Submit([&] {
    begun = true;
    const std::lock_guard<std::mutex> wait(gate);
  }));
  while (!begun) std::this_thread::yield();
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_FALSE(pool.Submit([] {}));
  closed.unlock();
}

}  // namespace
}  // namespace papr::server
