// The partitions of the daemon, by name.
//
// Threads: any, at any time. The names are spread over shards with a mutex each, held for a
// look-up; no lock is shared by all partitions on the way of an hcall. A partition lives on,
// unnamed, until the calls in progress have let go of it.

#ifndef SERVER_PARTITION_REGISTRY_H_
#define SERVER_PARTITION_REGISTRY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hcall/partition.h"
#include "mmu/memory_budget.h"
#include "server/hcall_metrics.h"
#include "server/limits.h"
#include "server/worker_pool.h"

namespace papr::server {

struct ServedPartition {
  ServedPartition() = default;
  ServedPartition(const ServedPartition&) = delete;
  ServedPartition& operator=(const ServedPartition&) = delete;
  ~ServedPartition() {
    if (cells != nullptr) cells->Close();
  }

  std::string name;
  std::unique_ptr<hcall::Partition> partition;
  std::shared_ptr<PartitionCells> cells;
  // Operations in progress that hold back every hcall of the partition until they are done. While
  // there are any, hcalls wait on worker threads, not on gRPC's.
  std::atomic<int> exclusive_operations{0};
};

// Counts as one of a partition's exclusive operations while it lives.
class ExclusiveOperation {
 public:
  explicit ExclusiveOperation(ServedPartition& served) : served_(served) {
    served_.exclusive_operations.fetch_add(1, std::memory_order_relaxed);
  }
  ~ExclusiveOperation() { served_.exclusive_operations.fetch_sub(1, std::memory_order_relaxed); }
  ExclusiveOperation(const ExclusiveOperation&) = delete;
  ExclusiveOperation& operator=(const ExclusiveOperation&) = delete;

 private:
  ServedPartition& served_;
};

class PartitionRegistry {
 public:
  // Tables are given back to the host on the threads of `workers`.
  PartitionRegistry(const Limits& limits, std::shared_ptr<HcallMetrics> metrics,
                    std::shared_ptr<WorkerPool> workers);

  // Makes a partition. INVALID_ARGUMENT: "name", or a field of the configuration below "config".
  // ALREADY_EXISTS. RESOURCE_EXHAUSTED: max_partitions, max_hpt_bytes, or the host's memory.
  absl::StatusOr<std::shared_ptr<ServedPartition>> Create(absl::string_view name,
                                                          hcall::PartitionConfig config);
  // The partition of this name, or null.
  std::shared_ptr<ServedPartition> Find(absl::string_view name) const;
  // Takes the name away and returns the partition; null if there is none.
  std::shared_ptr<ServedPartition> Remove(absl::string_view name);

  // Up to `count` partitions with names after `after`, by ascending name.
  std::vector<std::shared_ptr<ServedPartition>> List(absl::string_view after, size_t count) const;

  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  const mmu::MemoryBudget& hpt_budget() const { return *hpt_budget_; }

 private:
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    absl::flat_hash_map<std::string, std::shared_ptr<ServedPartition>> partitions;
  };

  std::shared_ptr<ServedPartition> MakeServed(absl::string_view name,
                                              std::unique_ptr<hcall::Partition> partition) const;
  Shard& ShardOf(absl::string_view name) const;
  bool ReserveOne();

  const uint64_t max_partitions_;
  const std::shared_ptr<mmu::MemoryBudget> hpt_budget_;
  const std::shared_ptr<HcallMetrics> metrics_;
  const std::shared_ptr<WorkerPool> workers_;
  std::atomic<uint64_t> size_{0};
  mutable std::array<Shard, kShards> shards_;
};

}  // namespace papr::server

#endif  // SERVER_PARTITION_REGISTRY_H_
