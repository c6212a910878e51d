// What hcalls are counted as, for Prometheus: hptd_hcalls_total, hptd_hcall_round_trips_total,
// hptd_hcall_duration_seconds, hptd_frame_hcalls and hptd_resize_total.
//
// Threads: everything here may be called from any thread. Counting takes no lock; the mutex of
// HcallMetrics is for partitions that come and go and for scrapes.

#ifndef SERVER_HCALL_METRICS_H_
#define SERVER_HCALL_METRICS_H_

#include <prometheus/collectable.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hcall/dispatch.h"
#include "server/sharded_cells.h"

namespace papr::server {

// Label `result` of hptd_hcalls_total.
enum class HcallOutcome : uint8_t {
  kSuccess,
  kNotFound,
  kPtegFull,
  kParameter,
  kFunction,
  kPartial,
  kBusy,
  kLongBusy,
  kClosed,
  kResource,
  kPrivilege,
  kOther,
};
inline constexpr int kHcallOutcomes = static_cast<int>(HcallOutcome::kOther) + 1;

HcallOutcome OutcomeOf(int64_t return_code);

// Label `rpc` of hptd_hcall_round_trips_total: the methods of HcallService.
enum class HcallRpc : uint8_t {
  kHcall,
  kHcallBatch,
  kEnter,
  kRead,
  kRemove,
  kProtect,
  kClearReference,
  kClearModify,
  kBulkRemove,
  kBlockRemove,
  kHashRemove,
  kHashProtect,
  kHashBulkRemove,
  kResizeHptPrepare,
  kResizeHptCommit,
  kPageInit,
  kClearHpt,
};
inline constexpr int kHcallRpcs = static_cast<int>(HcallRpc::kClearHpt) + 1;

// The counts of one partition.
class PartitionCells {
 public:
  explicit PartitionCells(std::string label) : label_(std::move(label)), cells_(kSize) {}

  // Value of the `partition` label: the partition's name, or "other".
  const std::string& label() const { return label_; }

  // `kind` is a hcall::HcallKind().
  void CountHcalls(int kind, HcallOutcome outcome, uint64_t n) {
    cells_.Add(HcallIndex(kind, static_cast<int>(outcome)), n);
  }
  void CountRoundTrip(HcallRpc rpc) { cells_.Add(RpcIndex(static_cast<int>(rpc))); }
  // Nobody counts here any more.
  void Close() { closed_.store(true, std::memory_order_release); }

 private:
  friend class HcallMetrics;

  static constexpr size_t HcallIndex(int kind, int outcome) {
    return static_cast<size_t>(kind * kHcallOutcomes + outcome);
  }
  static constexpr size_t RpcIndex(int rpc) {
    return static_cast<size_t>(hcall::kHcallKinds * kHcallOutcomes + rpc);
  }
  static constexpr size_t kSize =
      static_cast<size_t>(hcall::kHcallKinds * kHcallOutcomes + kHcallRpcs);

  const std::string label_;
  ShardedCells cells_;
  std::atomic<bool> closed_{false};
  bool retired_ = false;  // guarded by HcallMetrics::mutex_
};

class HcallMetrics : public prometheus::Collectable {
 public:
  // `max_labels`: partitions that get a label of their own.
  explicit HcallMetrics(uint64_t max_labels);
  ~HcallMetrics() override;

  // Cells for a new partition, whose name is not "other". Its own label if fewer than the maximum
  // have one now, else "other".
  std::shared_ptr<PartitionCells> Add(absl::string_view partition);
  // The partition is gone. What a call in progress still counts is kept if the label is "other".
  void Retire(const std::shared_ptr<PartitionCells>& cells);

  // True for one call in so many on each thread: time this one.
  static bool SampleNow();
  void ObserveDuration(int kind, uint64_t nanoseconds);
  void ObserveFrame(uint64_t hcalls);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Sums;

  // Moves retired cells that nobody counts in any more into the totals. Requires mutex_.
  void FoldRetired() const;
  void CollectHcalls(const Sums& sums, std::vector<prometheus::MetricFamily>& out) const;
  void CollectResizes(const Sums& sums, std::vector<prometheus::MetricFamily>& out) const;
  void CollectDurations(std::vector<prometheus::MetricFamily>& out) const;
  void CollectFrames(std::vector<prometheus::MetricFamily>& out) const;

  const uint64_t max_labels_;
  ShardedCells durations_;
  ShardedCells frames_;

  mutable std::mutex mutex_;
  // The members below are guarded by mutex_.
  mutable std::vector<std::shared_ptr<PartitionCells>> partitions_;
  uint64_t labels_ = 0;
  bool had_other_ = false;
  mutable std::vector<uint64_t> folded_other_;  // counts of retired partitions labelled "other"
  mutable std::vector<uint64_t>
      folded_commits_;  // H_RESIZE_HPT_COMMIT by outcome, all retired ones
};

}  // namespace papr::server

#endif  // SERVER_HCALL_METRICS_H_
