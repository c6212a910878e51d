#include "server/sharded_cells.h"

namespace papr::server {

ShardedCells::~ShardedCells() {
  for (auto& row : rows_) delete[] row.load(std::memory_order_acquire);
}

size_t ShardedCells::ThisShard() {
  static std::atomic<size_t> next_shard{0};
  thread_local const size_t shard = next_shard.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shard;
}

std::atomic<uint64_t>* ShardedCells::MakeRow() {
  auto& slot = rows_[ThisShard()];
  auto* row = new std::atomic<uint64_t>[size_]();
  std::atomic<uint64_t>* other = nullptr;
  if (slot.compare_exchange_strong(other, row, std::memory_order_acq_rel)) return row;
  delete[] row;
  return other;
}

void ShardedCells::AddTo(std::vector<uint64_t>& sums) const {
  for (const auto& slot : rows_) {
    const std::atomic<uint64_t>* row = slot.load(std::memory_order_acquire);
    if (row == nullptr) continue;
    for (size_t i = 0; i < size_; ++i) sums[i] += row[i].load(std::memory_order_relaxed);
  }
}

}  // namespace papr::server
