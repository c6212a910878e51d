// What single hcalls and batches of them cost on tables of order 20 to 31, half full, one thread.
// README.md tells what is compared with what, and why.

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hcall/htab_export.h"
#include "mmu/pteg_scan.h"
#include "tests/bench/engine_work.h"
#include "tests/bench/half_full_table.h"
#include "tests/bench/paired.h"

namespace papr::bench {
namespace {

constexpr int kOrders[] = {20, 24, 28, 31};
constexpr size_t kFrame = 64;
constexpr size_t kLargeFrame = 1024;

// How much is measured: enough for figures, or, as a ctest, only so much that everything runs.
struct Extent {
  int pairs_small = 31;  // at orders up to 24
  int pairs_large = 21;
  size_t sample_small = 200'000;  // operations
  size_t sample_large = 500'000;
  int max_order = 31;
};
Extent extent;

// What follows the changes of a table.
enum class Tracking : uint8_t { kNothing, kGuestPages, kExport };

struct Subject {
  std::unique_ptr<HalfFullTable> table;
  std::unique_ptr<hcall::HtabExport> reader;  // open for kExport, so that changes are marked
};

// The tables of one order at a time: those of the large orders are gigabytes.
HalfFullTable& Table(int order, Tracking tracking) {
  static int current = 0;
  static std::array<Subject, 3> subjects;
  if (current != order) {
    for (Subject& subject : subjects) {
      subject.reader.reset();
      subject.table.reset();
    }
    current = order;
  }
  Subject& subject = subjects[static_cast<size_t>(tracking)];
  if (subject.table == nullptr) {
    hcall::PartitionConfig config = ConfigOfOrder(order);
    config.track_guest_pages = tracking == Tracking::kGuestPages;
    subject.table = std::make_unique<HalfFullTable>(config);
    if (tracking == Tracking::kExport) {
      subject.reader = *hcall::HtabExport::Open(subject.table->partition(), {});
    }
  }
  return *subject.table;
}

// A loop of engine_work.h, and whether it makes hcalls, which have to be taken back.
struct Loop {
  std::function<void(hcall::Partition&, Call, std::span<Operation>)> run;
  bool hcalls;
  Tracking tracking = Tracking::kNothing;
};

// Processor time of this thread: what other programs do meanwhile shows less in it than in time as
// such.
double ThreadNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Nanoseconds an operation, over one sample.
double Cost(int order, Call call, const Loop& loop) {
  HalfFullTable& table = Table(order, loop.tracking);
  const size_t sample = order > 24 ? extent.sample_large : extent.sample_small;
  // A sixteenth of the entries at a time, so that the table stays about half full meanwhile.
  const size_t count = std::min<size_t>(sample, table.partition().table().entry_count() / 16);
  double elapsed = 0;
  size_t done = 0;
  for (; done < sample; done += count) {
    std::vector<Operation> operations = Prepare(table, call, count);
    const double begin = ThreadNanoseconds();
    loop.run(table.partition(), call, operations);
    elapsed += ThreadNanoseconds() - begin;
    if (loop.hcalls) Restore(table, call, operations);
  }
  return elapsed / static_cast<double>(done);
}

void Report(benchmark::State& state, const PairedRatio& ratio) {
  state.counters["value"] = ratio.median;
  state.counters["lower_quartile"] = ratio.lower_quartile;
  state.counters["upper_quartile"] = ratio.upper_quartile;
  state.counters["ns"] = ratio.median_a;
  state.counters["ns_base"] = ratio.median_b;
}

// Counter that holds a figure to a bar, and the bar; none: the figure is only shown.
struct Bar {
  const char* counter = nullptr;
  double value = 0;
};
Bar AtMost(double value) { return {"bar_at_most", value}; }
Bar AtLeast(double value) { return {"bar_at_least", value}; }

// The figure "what/order/call": the cost of `a` over that of `b`.
void Register(std::string_view what, int order, Call call, Bar bar, const Loop& a, const Loop& b) {
  const std::string name =
      std::string(what) + "/" + std::to_string(order) + "/" + std::string(CallName(call));
  const auto measure = [=](benchmark::State& state) {
    const int pairs = order > 24 ? extent.pairs_large : extent.pairs_small;
    for (auto _ : state) {
      Report(state, ComparePairs(
                        pairs, [&] { return Cost(order, call, a); },
                        [&] { return Cost(order, call, b); }));
    }
    if (bar.counter != nullptr) state.counters[bar.counter] = bar.value;
  };
  benchmark::RegisterBenchmark(name.c_str(), measure)->Iterations(1)->Unit(benchmark::kMillisecond);
}

double SerialisedBar(int order, Call call) {
  if (order > 20) return 1.25;
  return Searches(call) ? 2.1 : 1.5;
}
double NullBar(Call call) {
  if (call == Call::kRead) return 1.7;
  return Searches(call) ? 4.5 : 3.0;
}
Bar BatchBar(int order) {
  if (order <= 20) return {};
  return AtMost(order == 31 ? 3.2 : 2.4);
}

Loop Hcalls(Fence fence) {
  return {[=](auto& partition, Call call, auto operations) {
            RunHcalls(partition, call, operations, fence);
          },
          true};
}
Loop Batches(size_t frame, mmu::PtegScan scan) {
  return {[=](auto& partition, Call call, auto operations) {
            mmu::SetPtegScan(scan);
            RunBatches(partition, call, operations, frame);
            mmu::SetPtegScan(mmu::BestPtegScan());
          },
          true};
}
Loop Null(Fence fence) {
  return {[=](auto& partition, Call call, auto operations) {
            RunNull(partition, call, operations, fence);
          },
          false};
}
Loop Bare(Fence fence) {
  return {[=](auto& partition, Call call, auto operations) {
            RunBare(partition, call, operations, fence);
          },
          false};
}

void RegisterFigures(int order, Call call) {
  const Loop serialised = Hcalls(Fence::kAfterEach);
  const Loop batches = Batches(kFrame, mmu::BestPtegScan());
  const Loop prefetched = {RunBareWithPrefetch, false};
  Register("SerialisedOverBare", order, call, AtMost(SerialisedBar(order, call)), serialised,
           Bare(Fence::kAfterEach));
  Register("IndependentOverNull", order, call, AtMost(NullBar(call)), Hcalls(Fence::kNone),
           Null(Fence::kNone));
  Register("Batch64OverBare", order, call, BatchBar(order), batches, prefetched);
  Register("Batch1024OverBare", order, call, {}, Batches(kLargeFrame, mmu::BestPtegScan()),
           prefetched);
  if (Searches(call)) {
    Register("PortableBatch64OverBare", order, call, {}, Batches(kFrame, mmu::PtegScan::kPortable),
             prefetched);
  }
  if (order == 24 || order == 28) {
    const auto with = [](Tracking tracking, Loop loop) {
      loop.tracking = tracking;
      return loop;
    };
    Register("TrackedSerialised", order, call, AtMost(1.5), with(Tracking::kGuestPages, serialised),
             serialised);
    Register("TrackedBatch64", order, call, AtMost(1.5), with(Tracking::kGuestPages, batches),
             batches);
    Register("ExportedSerialised", order, call, AtMost(1.5), with(Tracking::kExport, serialised),
             serialised);
    Register("ExportedBatch64", order, call, AtMost(1.5), with(Tracking::kExport, batches),
             batches);
  }
  if (order == 28) {
    Register("SerialisedOverBatch64", order, call, AtLeast(Searches(call) ? 5 : 7), serialised,
             batches);
  }
}

}  // namespace
}  // namespace papr::bench

int main(int argc, char** argv) {
  using namespace papr::bench;
  if (std::getenv("ENGINE_BENCH_SHORT") != nullptr) {
    extent = {.pairs_small = 1, .pairs_large = 1, .sample_small = 4'096, .max_order = 24};
  }
  for (const int order : kOrders) {
    if (order > extent.max_order) continue;
    for (const Call call : kCalls) RegisterFigures(order, call);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
