// How much faster two threads are than one, against how much faster bare accesses get: on one
// partition and on one each, at orders 24 and 28, half full.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/engine_work.h"
#include "tests/bench/half_full_table.h"
#include "tests/bench/paired.h"

namespace papr::bench {
namespace {

constexpr int kOrders[] = {24, 28};
constexpr double kBar = 0.85;
// A repetition in which the bare loop gains less says nothing: the machine was busy.
constexpr double kLeastBareScaling = 1.6;

struct Extent {
  int repetitions = 21;      // that count
  int max_repetitions = 63;  // with those dropped
  size_t operations = 200'000;
};
Extent extent;

// The tables of one order; the second is made when it is first needed.
HalfFullTable& Table(int order, int index) {
  static int current = 0;
  static std::unique_ptr<HalfFullTable> tables[2];
  if (current != order) {
    for (auto& table : tables) table.reset();
    current = order;
  }
  if (tables[index] == nullptr) {
    tables[index] = std::make_unique<HalfFullTable>(ConfigOfOrder(order), 20 + index);
  }
  return *tables[index];
}

enum class Loop : uint8_t { kHcalls, kBare };

// One thread's share.
struct Share {
  hcall::Partition* partition;
  std::span<Operation> operations;
};

// Operations a nanosecond of all shares at once, each on a thread of its own.
double Throughput(Loop loop, Call call, const std::vector<Share>& shares) {
  std::vector<double> rates(shares.size());
  std::barrier start(static_cast<std::ptrdiff_t>(shares.size()));
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < shares.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto& [partition, operations] = shares[i];
      start.arrive_and_wait();
      const auto begin = std::chrono::steady_clock::now();
      if (loop == Loop::kHcalls) {
        RunHcalls(*partition, call, operations, Fence::kNone);
      } else {
        RunBare(*partition, call, operations, Fence::kNone);
      }
      const std::chrono::duration<double, std::nano> elapsed =
          std::chrono::steady_clock::now() - begin;
      rates[i] = static_cast<double>(operations.size()) / elapsed.count();
    });
  }
  threads.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

// Two threads over one thread, of the same loop.
double Scaling(Loop loop, int order, int partitions, Call call) {
  const auto measure = [&](size_t threads) {
    std::vector<std::vector<Operation>> lists;
    const size_t tables = partitions == 1 ? 1 : threads;
    for (size_t i = 0; i < tables; ++i) {
      lists.push_back(
          Prepare(Table(order, static_cast<int>(i)), call, extent.operations * (threads / tables)));
    }
    std::vector<Share> shares;
    for (size_t i = 0; i < threads; ++i) {
      const size_t table = i % tables;
      shares.push_back({&Table(order, static_cast<int>(table)).partition(),
                        std::span(lists[table])
                            .subspan(tables == 1 ? i * extent.operations : 0, extent.operations)});
    }
    const double throughput = Throughput(loop, call, shares);
    for (size_t i = 0; loop == Loop::kHcalls && i < tables; ++i) {
      Restore(Table(order, static_cast<int>(i)), call, lists[i]);
    }
    return throughput;
  };
  const double one = measure(1);
  return measure(2) / one;
}

void Measure(benchmark::State& state, int order, int partitions, Call call) {
  std::vector<double> ratios;
  std::vector<double> scalings;
  int dropped = 0;
  while (static_cast<int>(ratios.size()) < extent.repetitions &&
         static_cast<int>(ratios.size()) + dropped < extent.max_repetitions) {
    const bool hcalls_first = (ratios.size() + static_cast<size_t>(dropped)) % 2 == 0;
    double hcalls = 0;
    if (hcalls_first) hcalls = Scaling(Loop::kHcalls, order, partitions, call);
    const double bare = Scaling(Loop::kBare, order, partitions, call);
    if (!hcalls_first) hcalls = Scaling(Loop::kHcalls, order, partitions, call);
    if (bare < kLeastBareScaling) {
      ++dropped;
      continue;
    }
    ratios.push_back(hcalls / bare);
    scalings.push_back(hcalls);
  }
  state.counters["repetitions"] = static_cast<double>(ratios.size());
  state.counters["dropped"] = dropped;
  if (static_cast<int>(ratios.size()) < extent.repetitions) {
    state.SkipWithError("the machine is too busy: bare accesses hardly gain from a second thread");
    return;
  }
  state.counters["value"] = Quantile(ratios, 0.5);
  state.counters["lower_quartile"] = Quantile(ratios, 0.25);
  state.counters["upper_quartile"] = Quantile(ratios, 0.75);
  state.counters["scaling"] = Quantile(scalings, 0.5);
  state.counters["bar_at_least"] = kBar;
}

void Register(int order, int partitions, Call call) {
  const std::string name = std::string(partitions == 1 ? "OnePartition/" : "TwoPartitions/") +
                           std::to_string(order) + "/" + std::string(CallName(call));
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 for (auto _ : state) Measure(state, order, partitions, call);
                               })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace papr::bench

int main(int argc, char** argv) {
  using namespace papr::bench;
  const bool brief = std::getenv("ENGINE_BENCH_SHORT") != nullptr;
  if (brief) extent = {.repetitions = 1, .max_repetitions = 1, .operations = 10'000};
  for (const int order : kOrders) {
    for (const int partitions : {1, 2}) {
      for (const Call call : kCalls) {
        if (!brief || order == kOrders[0]) Register(order, partitions, call);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
