// Lets hcalls run beside each other without a shared lock, and a change of structure run alone.
//
// An hcall holds a Shared guard: a count in a lane, a cache line that its thread has to itself. An
// Exclusive guard closes the gate and waits until every lane is back to zero. Guards do not nest.
//
// The two sides race as in Dekker's algorithm: each writes its own word, then reads the other's,
// and needs a full barrier between the two. Where the kernel offers it (membarrier(2)), the rare
// Exclusive side executes the barrier for all threads, and a Shared guard is two plain stores and a
// load; elsewhere, and for threads beyond the lanes, both sides use locked operations.

#ifndef HCALL_QUIESCENCE_H_
#define HCALL_QUIESCENCE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "mmu/yield_point.h"

namespace papr::hcall {

namespace internal {
// Lane of this thread, from 1; 0: it has none yet. Lanes are given back when threads end.
extern constinit thread_local int lane_of_this_thread;
// Whether membarrier(2) works here.
extern const bool kMembarrier;
}  // namespace internal

class Quiescence {
 public:
  class Shared {
   public:
    explicit Shared(Quiescence& q) : lane_(q.Enter()) {}
    ~Shared() { Leave(lane_); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    std::atomic<uint32_t>* lane_;
  };

  class Exclusive {
   public:
    explicit Exclusive(Quiescence& q) : q_(q) { q_.Close(); }
    ~Exclusive() { q_.Open(); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    Quiescence& q_;
  };

 private:
  // Lane 0 is for all threads that have none of their own: it is a count, and changed by locked
  // operations.
  static constexpr int kLanes = 32;
  struct alignas(64) Lane {
    std::atomic<uint32_t> inside{0};
  };
  friend class LaneOwner;

  // Lane of this thread, with this thread counted in it.
  std::atomic<uint32_t>* Enter() {
    const int lane = internal::lane_of_this_thread;
    if (lane <= 0 || !internal::kMembarrier) return EnterSlowly();
    std::atomic<uint32_t>& inside = lanes_[lane].inside;
    inside.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // Close() makes it a real one
    mmu::StepYieldPoint();
    if (closed_.load(std::memory_order_acquire)) [[unlikely]] {
      inside.store(0, std::memory_order_release);
      return EnterSlowly();
    }
    return &inside;
  }
  static void Leave(std::atomic<uint32_t>* inside) {
    // Its own lane holds no other thread's count, so this needs no locked operation.
    if (internal::lane_of_this_thread > 0) [[likely]] {
      inside->store(0, std::memory_order_release);
    } else {
      inside->fetch_sub(1, std::memory_order_release);
    }
  }
  std::atomic<uint32_t>* EnterSlowly();
  void Close();
  void Open();

  std::array<Lane, kLanes> lanes_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;  // held by the Exclusive guard
};

}  // namespace papr::hcall

#endif  // HCALL_QUIESCENCE_H_
