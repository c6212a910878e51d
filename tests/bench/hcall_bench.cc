// What H_ENTER and H_REMOVE of random pages cost in the process, against the memory accesses that
// no implementation can do without, and against a handler that does only those.
//
// One thread, order 24, half full. Serialised: a fence after each operation on both sides, since a
// guest's hcalls do not overlap. Independent: no fence; what our logic costs when calls do overlap.

#include <benchmark/benchmark.h>
#include <emmintrin.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "hcall/dispatcher.h"
#include "hcall/hcall_table.h"
#include "tests/bench/half_full_table.h"
#include "tests/bench/paired.h"

namespace papr::bench {
namespace {

constexpr int kOrder = 24;
constexpr int kPairs = 31;
constexpr size_t kOperations = 50'000;  // pairs of ENTER and REMOVE in a sample

enum class Fence : uint8_t { kNone, kAfterEach };

// Range check and the access, nothing else: the least that a page table hcall can be.
hcall::Outcome NullHcall(hcall::Partition& partition, hcall::Registers& registers) {
  const uint64_t ptex = registers[1];
  if (!partition.table().Contains(ptex)) return {hcall::kHParameter};
  const auto entry = partition.table().Lock(ptex);
  registers[0] = entry.v();
  return {hcall::kHSuccess, 1};
}

constexpr auto kNullHcalls = [] {
  std::array<hcall::HcallEntry, hcall::kOtherHcall> table{};
  table.fill({.function = NullHcall, .name = "null"});
  return table;
}();

// The pages of one sample: entered and removed alternately, all of them at random places.
struct Sample {
  std::vector<Page> enter;   // not in the table
  std::vector<Page> remove;  // in the table
};

Sample MakeSample(HalfFullTable& table) {
  Sample sample;
  table.ShuffleToEnd(kOperations);
  auto& live = table.live();
  sample.remove.assign(live.end() - kOperations, live.end());
  live.resize(live.size() - kOperations);
  sample.enter = table.NewPagesThatFit(kOperations);
  return sample;
}

// Gives the sample's new pages, with their slots, back to the table's list of live ones.
void Finish(HalfFullTable& table, const Sample& sample) {
  table.live().insert(table.live().end(), sample.enter.begin(), sample.enter.end());
}

void FenceIf(Fence fence) {
  if (fence == Fence::kAfterEach) _mm_lfence();
}

template <typename Body>
double NanosecondsAPair(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / kOperations;
}

hcall::HcallRequest EnterRequest(uint64_t ptex, uint64_t v) {
  return {hcall::kHEnter, {0, ptex, v, 0x1234012}, false};
}
hcall::HcallRequest RemoveRequest(const Page& page) {
  return {hcall::kHRemove, {hcall::kFlagAvpn, page.ptex, page.v & mmu::kVCompare}, false};
}

// H_ENTER and H_REMOVE of a sample. Aborts if any of them fails, for that would not be the work
// that is measured.
double RunHcalls(HalfFullTable& table, Fence fence) {
  Sample sample = MakeSample(table);
  const double cost = NanosecondsAPair([&] {
    for (size_t i = 0; i < kOperations; ++i) {
      Page& page = sample.enter[i];
      const auto entered =
          Dispatch(table.partition(), EnterRequest(table.PrimaryPtex(page), page.v));
      FenceIf(fence);
      const auto removed = Dispatch(table.partition(), RemoveRequest(sample.remove[i]));
      FenceIf(fence);
      if (entered.return_code != hcall::kHSuccess || removed.return_code != hcall::kHSuccess) {
        std::abort();
      }
      page.ptex = entered.registers[0];
    }
  });
  Finish(table, sample);
  return cost;
}

// The bare accesses of the same pairs: one lock and unlock of a random entry each.
double RunBare(HalfFullTable& table, Fence fence) {
  const Sample sample = MakeSample(table);
  uint64_t sum = 0;
  const double cost = NanosecondsAPair([&] {
    for (size_t i = 0; i < kOperations; ++i) {
      sum += table.partition().table().Lock(table.PrimaryPtex(sample.enter[i])).v();
      FenceIf(fence);
      sum += table.partition().table().Lock(sample.remove[i].ptex).v();
      FenceIf(fence);
    }
  });
  benchmark::DoNotOptimize(sum);
  table.live().insert(table.live().end(), sample.remove.begin(), sample.remove.end());
  return cost;
}

// The same pairs through the same dispatcher, to handlers that do only the access.
double RunNull(HalfFullTable& table, Fence fence) {
  const Sample sample = MakeSample(table);
  uint64_t sum = 0;
  const double cost = NanosecondsAPair([&] {
    for (size_t i = 0; i < kOperations; ++i) {
      const auto entered = hcall::Dispatcher<kNullHcalls>::RunOne(
          table.partition(), EnterRequest(table.PrimaryPtex(sample.enter[i]), sample.enter[i].v));
      FenceIf(fence);
      const auto removed = hcall::Dispatcher<kNullHcalls>::RunOne(table.partition(),
                                                                  RemoveRequest(sample.remove[i]));
      sum += entered.registers[0] + removed.registers[0];
      FenceIf(fence);
    }
  });
  benchmark::DoNotOptimize(sum);
  table.live().insert(table.live().end(), sample.remove.begin(), sample.remove.end());
  return cost;
}

void Report(benchmark::State& state, const PairedRatio& ratio, double bar) {
  state.counters["value"] = ratio.median;
  state.counters["lower_quartile"] = ratio.lower_quartile;
  state.counters["upper_quartile"] = ratio.upper_quartile;
  state.counters["ns_a_pair"] = ratio.median_a;
  state.counters["ns_a_pair_base"] = ratio.median_b;
  state.counters["bar_at_most"] = bar;
}

HalfFullTable& Table() {
  static auto& table = *new HalfFullTable(ConfigOfOrder(kOrder));
  return table;
}

void EnterRemoveSerialisedOverBare(benchmark::State& state) {
  HalfFullTable& table = Table();
  for (auto _ : state) {
    Report(state,
           ComparePairs(
               kPairs, [&] { return RunHcalls(table, Fence::kAfterEach); },
               [&] { return RunBare(table, Fence::kAfterEach); }),
           1.3);
  }
}
BENCHMARK(EnterRemoveSerialisedOverBare)->Iterations(1)->Unit(benchmark::kMillisecond);

void EnterRemoveIndependentOverNull(benchmark::State& state) {
  HalfFullTable& table = Table();
  for (auto _ : state) {
    Report(state,
           ComparePairs(
               kPairs, [&] { return RunHcalls(table, Fence::kNone); },
               [&] { return RunNull(table, Fence::kNone); }),
           4.0);
  }
}
BENCHMARK(EnterRemoveIndependentOverNull)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace papr::bench

BENCHMARK_MAIN();
