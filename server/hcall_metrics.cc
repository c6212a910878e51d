#include "server/hcall_metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "server/partition_name.h"
#include "server/prometheus_util.h"

namespace papr::server {
namespace {

constexpr std::array<const char*, kHcallOutcomes> kOutcomeNames = {
    "success", "not_found", "pteg_full", "parameter", "function",  "partial",
    "busy",    "long_busy", "closed",    "resource",  "privilege", "other"};

constexpr std::array<const char*, kHcallRpcs> kRpcNames = {
    "Hcall",          "HcallBatch",       "Enter",           "Read",
    "Remove",         "Protect",          "ClearReference",  "ClearModify",
    "BulkRemove",     "BlockRemove",      "HashRemove",      "HashProtect",
    "HashBulkRemove", "ResizeHptPrepare", "ResizeHptCommit", "PageInit",
    "ClearHpt"};

// Engine time: 100 ns to 1 ms.
constexpr std::array<uint64_t, 13> kDurationBoundsNs = {
    100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000};
constexpr size_t kDurationBuckets = kDurationBoundsNs.size() + 1;
constexpr size_t kDurationCells = kDurationBuckets + 1;  // the last one is the sum in ns

constexpr std::array<double, 13> kFrameBounds = {1,   2,   4,   8,    16,   32,  64,
                                                 128, 256, 512, 1024, 2048, 4096};
constexpr size_t kFrameBuckets = kFrameBounds.size() + 1;

// One call in so many is timed: two clock reads cost about as much as an hcall.
constexpr uint32_t kSampleEvery = 16;

std::string KindName(int kind) { return std::string(hcall::HcallKindName(kind)); }

int CommitKind() {
  for (int kind = 0; kind < hcall::kHcallKinds; ++kind) {
    if (hcall::HcallKindName(kind) == "h_resize_hpt_commit") return kind;
  }
  return hcall::kOtherHcall;
}

}  // namespace

HcallOutcome OutcomeOf(int64_t return_code) {
  switch (return_code) {
    case hcall::kHSuccess:
      return HcallOutcome::kSuccess;
    case hcall::kHNotFound:
      return HcallOutcome::kNotFound;
    case hcall::kHPtegFull:
      return HcallOutcome::kPtegFull;
    case hcall::kHParameter:
      return HcallOutcome::kParameter;
    case hcall::kHFunction:
      return HcallOutcome::kFunction;
    case hcall::kHPartial:
      return HcallOutcome::kPartial;
    case hcall::kHBusy:
      return HcallOutcome::kBusy;
    case hcall::kHClosed:
      return HcallOutcome::kClosed;
    case hcall::kHResource:
      return HcallOutcome::kResource;
    case hcall::kHPrivilege:
      return HcallOutcome::kPrivilege;
    default:
      return hcall::IsLongBusy(return_code) ? HcallOutcome::kLongBusy : HcallOutcome::kOther;
  }
}

// Counts by partition label, so that all "other" partitions are one.
struct HcallMetrics::Sums {
  std::map<std::string, std::vector<uint64_t>> by_label;
  std::vector<uint64_t> commits;  // by outcome
};

HcallMetrics::HcallMetrics(uint64_t max_labels)
    : max_labels_(max_labels),
      durations_(hcall::kHcallKinds * kDurationCells),
      frames_(kFrameBuckets + 1),
      folded_other_(PartitionCells::kSize),
      folded_commits_(kHcallOutcomes) {}

HcallMetrics::~HcallMetrics() = default;

std::shared_ptr<PartitionCells> HcallMetrics::Add(absl::string_view partition) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FoldRetired();
  const bool own_label = labels_ < max_labels_;
  auto cells =
      std::make_shared<PartitionCells>(own_label ? std::string(partition) : kOtherPartitions);
  own_label ? ++labels_ : uint64_t{had_other_ = true};
  partitions_.push_back(cells);
  return cells;
}

void HcallMetrics::Retire(const std::shared_ptr<PartitionCells>& cells) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cells->retired_ = true;
  if (cells->label() != kOtherPartitions) --labels_;
  FoldRetired();
}

void HcallMetrics::FoldRetired() const {
  const auto done = [this](const std::shared_ptr<PartitionCells>& cells) {
    if (!cells->retired_ || !cells->closed_.load(std::memory_order_acquire)) return false;
    std::vector<uint64_t> sums(PartitionCells::kSize);
    cells->cells_.AddTo(sums);
    for (int i = 0; i < kHcallOutcomes; ++i) {
      folded_commits_[i] += sums[PartitionCells::HcallIndex(CommitKind(), i)];
    }
    if (cells->label() == kOtherPartitions) {
      for (size_t i = 0; i < sums.size(); ++i) folded_other_[i] += sums[i];
    }
    return true;
  };
  std::erase_if(partitions_, done);
}

bool HcallMetrics::SampleNow() {
  thread_local uint32_t calls = 0;
  return calls++ % kSampleEvery == 0;
}

void HcallMetrics::ObserveDuration(int kind, uint64_t nanoseconds) {
  const auto bucket = static_cast<size_t>(
      std::lower_bound(kDurationBoundsNs.begin(), kDurationBoundsNs.end(), nanoseconds) -
      kDurationBoundsNs.begin());
  const size_t first = static_cast<size_t>(kind) * kDurationCells;
  durations_.Add(first + bucket);
  durations_.Add(first + kDurationBuckets, nanoseconds);
}

void HcallMetrics::ObserveFrame(uint64_t hcalls) {
  const auto bucket = static_cast<size_t>(
      std::lower_bound(kFrameBounds.begin(), kFrameBounds.end(), static_cast<double>(hcalls)) -
      kFrameBounds.begin());
  frames_.Add(bucket);
  frames_.Add(kFrameBuckets, hcalls);
}

std::vector<prometheus::MetricFamily> HcallMetrics::Collect() const {
  Sums sums;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    FoldRetired();
    if (had_other_) sums.by_label[kOtherPartitions] = folded_other_;
    sums.commits = folded_commits_;
    for (const auto& cells : partitions_) {
      std::vector<uint64_t> counts(PartitionCells::kSize);
      cells->cells_.AddTo(counts);
      for (int i = 0; i < kHcallOutcomes; ++i) {
        sums.commits[i] += counts[PartitionCells::HcallIndex(CommitKind(), i)];
      }
      // A new partition may have the name of one that is going.
      if (cells->retired_ && cells->label() != kOtherPartitions) continue;
      std::vector<uint64_t>& total = sums.by_label[cells->label()];
      total.resize(PartitionCells::kSize);
      for (size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
    }
  }
  std::vector<prometheus::MetricFamily> out;
  CollectHcalls(sums, out);
  CollectResizes(sums, out);
  CollectDurations(out);
  CollectFrames(out);
  return out;
}

void HcallMetrics::CollectHcalls(const Sums& sums,
                                 std::vector<prometheus::MetricFamily>& out) const {
  auto hcalls = CounterFamily("hptd_hcalls_total", "Hypercalls executed, by PAPR result.");
  auto trips = CounterFamily("hptd_hcall_round_trips_total",
                             "Requests that carried hypercalls, however many each.");
  for (const auto& [label, counts] : sums.by_label) {
    for (int kind = 0; kind < hcall::kHcallKinds; ++kind) {
      for (int i = 0; i < kHcallOutcomes; ++i) {
        const uint64_t n = counts[PartitionCells::HcallIndex(kind, i)];
        if (n == 0 && static_cast<HcallOutcome>(i) != HcallOutcome::kSuccess) continue;
        AddCounter(hcalls,
                   {{"partition", label}, {"hcall", KindName(kind)}, {"result", kOutcomeNames[i]}},
                   static_cast<double>(n));
      }
    }
    for (int rpc = 0; rpc < kHcallRpcs; ++rpc) {
      AddCounter(trips, {{"partition", label}, {"rpc", kRpcNames[rpc]}},
                 static_cast<double>(counts[PartitionCells::RpcIndex(rpc)]));
    }
  }
  out.push_back(std::move(hcalls));
  out.push_back(std::move(trips));
}

void HcallMetrics::CollectResizes(const Sums& sums,
                                  std::vector<prometheus::MetricFamily>& out) const {
  auto resizes = CounterFamily("hptd_resize_total", "HPT resize commits, by PAPR result.");
  for (int i = 0; i < kHcallOutcomes; ++i) {
    if (sums.commits[i] == 0 && static_cast<HcallOutcome>(i) != HcallOutcome::kSuccess) continue;
    AddCounter(resizes, {{"result", kOutcomeNames[i]}}, static_cast<double>(sums.commits[i]));
  }
  out.push_back(std::move(resizes));
}

void HcallMetrics::CollectDurations(std::vector<prometheus::MetricFamily>& out) const {
  auto family = HistogramFamily(
      "hptd_hcall_duration_seconds",
      "Time in the engine of single hypercalls, one in 16 requests of each thread sampled.");
  std::array<double, kDurationBoundsNs.size()> bounds;
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = static_cast<double>(kDurationBoundsNs[i]) / 1e9;
  }
  std::vector<uint64_t> cells(durations_.size());
  durations_.AddTo(cells);
  for (int kind = 0; kind < hcall::kHcallKinds; ++kind) {
    const std::span<const uint64_t> counts(&cells[static_cast<size_t>(kind) * kDurationCells],
                                           kDurationCells);
    AddHistogram(family, {{"hcall", KindName(kind)}}, bounds, counts.first(kDurationBuckets),
                 static_cast<double>(counts[kDurationBuckets]) / 1e9);
  }
  out.push_back(std::move(family));
}

void HcallMetrics::CollectFrames(std::vector<prometheus::MetricFamily>& out) const {
  auto family = HistogramFamily("hptd_frame_hcalls", "Hypercalls that a batch carries.");
  std::vector<uint64_t> cells(frames_.size());
  frames_.AddTo(cells);
  AddHistogram(family, {}, kFrameBounds, std::span(cells).first(kFrameBuckets),
               static_cast<double>(cells[kFrameBuckets]));
  out.push_back(std::move(family));
}

}  // namespace papr::server
