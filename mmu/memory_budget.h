// How many bytes of hashed page tables a process may reserve in all. Thread-safe.

#ifndef MMU_MEMORY_BUDGET_H_
#define MMU_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace papr::mmu {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Takes `bytes`; false, and nothing taken, if that would pass the limit.
  bool Charge(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Refund(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace papr::mmu

#endif  // MMU_MEMORY_BUDGET_H_
