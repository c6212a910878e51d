// Rows of counters that many threads add to and one sums up now and then: a thread adds in the row
// of its shard, so that threads do not write the same cache line, with one relaxed atomic addition
// and no lock.
//
// Threads: any at any time. A sum is of no single moment, but never goes back.

#ifndef SERVER_SHARDED_CELLS_H_
#define SERVER_SHARDED_CELLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papr::server {

class ShardedCells {
 public:
  // `size` counters, all 0. A shard's row is made when a thread first adds to it.
  explicit ShardedCells(size_t size) : size_(size) {}
  ShardedCells(const ShardedCells&) = delete;
  ShardedCells& operator=(const ShardedCells&) = delete;
  ~ShardedCells();

  size_t size() const { return size_; }

  // Requires index < size().
  void Add(size_t index, uint64_t n = 1) { Row()[index].fetch_add(n, std::memory_order_relaxed); }

  // This thread's row, for several additions at once.
  std::atomic<uint64_t>* Row() {
    std::atomic<uint64_t>* row = rows_[ThisShard()].load(std::memory_order_acquire);
    return row != nullptr ? row : MakeRow();
  }

  // Adds every counter to sums[i]; requires sums.size() == size().
  void AddTo(std::vector<uint64_t>& sums) const;

 private:
  // Threads beyond so many share rows, which costs them time but no counts. gRPC has at most 16
  // threads for callbacks.
  static constexpr size_t kShards = 16;

  static size_t ThisShard();
  std::atomic<uint64_t>* MakeRow();

  const size_t size_;
  std::array<std::atomic<std::atomic<uint64_t>*>, kShards> rows_{};
};

}  // namespace papr::server

#endif  // SERVER_SHARDED_CELLS_H_
