// Lets hcalls run beside each other without a shared lock, and a change of structure run alone.
//
// An hcall holds a Shared guard: one of several counters, each on a cache line of its own, picked
// by thread, so that vCPUs on different threads do not write the same line. An Exclusive guard
// closes the gate and waits until every counter is back to zero. Guards do not nest.

#ifndef HCALL_QUIESCENCE_H_
#define HCALL_QUIESCENCE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace papr::hcall {

class Quiescence {
 public:
  class Shared {
   public:
    explicit Shared(Quiescence& q) : lane_(q.Enter()) {}
    ~Shared() { lane_->fetch_sub(1, std::memory_order_release); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    std::atomic<uint32_t>* lane_;
  };

  class Exclusive {
   public:
    explicit Exclusive(Quiescence& q) : lock_(q.mutex_), q_(q) { q_.Close(); }
    ~Exclusive() { q_.closed_.store(false, std::memory_order_release); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    std::lock_guard<std::mutex> lock_;
    Quiescence& q_;
  };

 private:
  static constexpr int kLanes = 16;
  struct alignas(64) Lane {
    std::atomic<uint32_t> inside{0};
  };

  // Counter of this thread, with this thread counted in it.
  std::atomic<uint32_t>* Enter();
  void Close();

  std::array<Lane, kLanes> lanes_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;  // held by the Exclusive guard
};

}  // namespace papr::hcall

#endif  // HCALL_QUIESCENCE_H_
