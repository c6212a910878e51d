#include "server/partition_registry.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "server/config_error.h"
#include "server/errors.h"
#include "server/partition_name.h"

namespace papr::server {
namespace {

absl::Status AlreadyExists(absl::string_view name) {
  return absl::AlreadyExistsError(absl::StrCat("partition \"", name, "\" exists"));
}

}  // namespace

PartitionRegistry::PartitionRegistry(const Limits& limits, std::shared_ptr<HcallMetrics> metrics,
                                     std::shared_ptr<WorkerPool> workers)
    : max_partitions_(limits.max_partitions),
      hpt_budget_(std::make_shared<mmu::MemoryBudget>(limits.max_hpt_bytes)),
      metrics_(std::move(metrics)),
      workers_(std::move(workers)) {}

PartitionRegistry::Shard& PartitionRegistry::ShardOf(absl::string_view name) const {
  return shards_[absl::Hash<absl::string_view>()(name) % kShards];
}

bool PartitionRegistry::ReserveOne() {
  uint64_t size = size_.load(std::memory_order_relaxed);
  do {
    if (size >= max_partitions_) return false;
  } while (!size_.compare_exchange_weak(size, size + 1, std::memory_order_relaxed));
  return true;
}

std::shared_ptr<ServedPartition> PartitionRegistry::MakeServed(
    absl::string_view name, std::unique_ptr<hcall::Partition> partition) const {
  // The last call in progress may end on a gRPC thread, and unmapping a full table takes long.
  const auto destroy = [workers = std::weak_ptr<WorkerPool>(workers_)](ServedPartition* served) {
    std::unique_ptr<ServedPartition> owned(served);
    if (WorkerPool::OnWorkerThread()) return;
    const std::shared_ptr<WorkerPool> pool = workers.lock();
    if (pool == nullptr) return;
    if (pool->Submit([served] { delete served; })) static_cast<void>(owned.release());
  };
  std::shared_ptr<ServedPartition> served(new ServedPartition, destroy);
  served->name = std::string(name);
  served->partition = std::move(partition);
  return served;
}

absl::StatusOr<std::shared_ptr<ServedPartition>> PartitionRegistry::Create(
    absl::string_view name, hcall::PartitionConfig config) {
  if (!IsPartitionName(name)) return FieldError("name", kPartitionNameRule);
  if (Find(name) != nullptr) return AlreadyExists(name);
  if (!ReserveOne()) {
    return LimitError("max_partitions", max_partitions_, "too many partitions");
  }
  const uint64_t bytes =
      config.mmu == hcall::MmuKind::kHash ? uint64_t{1} << (config.order & 63) : 0;
  config.hpt_budget = hpt_budget_;
  auto partition = hcall::Partition::Create(std::move(config));
  if (!partition.ok()) {
    size_.fetch_sub(1, std::memory_order_relaxed);
    const absl::Status& status = partition.status();
    if (absl::IsResourceExhausted(status) && bytes > hpt_budget_->limit() - hpt_budget_->used()) {
      return LimitError("max_hpt_bytes", hpt_budget_->limit(), "too many bytes of page tables");
    }
    return NameConfigField(status);
  }
  auto served = MakeServed(name, *std::move(partition));
  Shard& shard = ShardOf(name);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto [place, inserted] = shard.partitions.try_emplace(served->name, served);
  if (!inserted) {
    size_.fetch_sub(1, std::memory_order_relaxed);
    return AlreadyExists(name);
  }
  served->cells = metrics_->Add(name);
  return served;
}

std::shared_ptr<ServedPartition> PartitionRegistry::Find(absl::string_view name) const {
  Shard& shard = ShardOf(name);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto found = shard.partitions.find(name);
  return found != shard.partitions.end() ? found->second : nullptr;
}

std::shared_ptr<ServedPartition> PartitionRegistry::Remove(absl::string_view name) {
  Shard& shard = ShardOf(name);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto found = shard.partitions.find(name);
  if (found == shard.partitions.end()) return nullptr;
  std::shared_ptr<ServedPartition> served = std::move(found->second);
  shard.partitions.erase(found);
  size_.fetch_sub(1, std::memory_order_relaxed);
  metrics_->Retire(served->cells);
  return served;
}

std::vector<std::shared_ptr<ServedPartition>> PartitionRegistry::List(absl::string_view after,
                                                                      size_t count) const {
  std::vector<std::shared_ptr<ServedPartition>> found;
  for (const Shard& shard : shards_) {
    const std::lock_guard<std::mutex> lock(shard.mutex);
    for (const auto& [name, served] : shard.partitions) {
      if (name > after) found.push_back(served);
    }
  }
  const auto by_name = [](const auto& a, const auto& b) { return a->name < b->name; };
  const size_t kept = std::min(count, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(kept), found.end(),
                    by_name);
  found.resize(kept);
  return found;
}

}  // namespace papr::server
