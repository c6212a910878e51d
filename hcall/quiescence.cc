#include "hcall/quiescence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "mmu/yield_point.h"

namespace papr::hcall {
namespace {

// ThreadSanitizer does not know that the system call is a barrier.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMayUseMembarrier = false;
#else
constexpr bool kMayUseMembarrier = true;
#endif

bool Membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Threads that wait for each other here are the business of a test's scheduler, if there is one.
void Lock(std::mutex& mutex) {
  if (mmu::kYieldPoints) {
    while (!mutex.try_lock()) mmu::SpinYieldPoint();
  } else {
    mutex.lock();
  }
}

}  // namespace

namespace internal {
constinit thread_local int lane_of_this_thread = 0;
const bool kMembarrier = kMayUseMembarrier && Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}  // namespace internal

// Takes a lane for its thread, if there is one, and gives it back when the thread ends.
class LaneOwner {
 public:
  LaneOwner() {
    const std::lock_guard<std::mutex> lock(mutex_);
    int lane = 1;
    while (lane < Quiescence::kLanes && ((taken_ >> lane) & 1) != 0) ++lane;
    if (lane == Quiescence::kLanes) {
      internal::lane_of_this_thread = -1;
      return;
    }
    taken_ |= uint64_t{1} << lane;
    internal::lane_of_this_thread = lane;
  }
  ~LaneOwner() {
    const int lane = internal::lane_of_this_thread;
    internal::lane_of_this_thread = -1;  // for guards that later destructors of this thread take
    if (lane <= 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_ &= ~(uint64_t{1} << lane);
  }

 private:
  static_assert(Quiescence::kLanes <= 64);
  inline static constinit std::mutex mutex_;
  inline static constinit uint64_t taken_ = 0;  // bit i: lane i has an owner
};

std::atomic<uint32_t>* Quiescence::EnterSlowly() {
  if (internal::lane_of_this_thread == 0) thread_local const LaneOwner owner;
  const int lane = internal::lane_of_this_thread;
  std::atomic<uint32_t>& inside = lanes_[lane > 0 ? lane : 0].inside;
  inside.fetch_add(1);
  mmu::StepYieldPoint();
  if (!closed_.load()) return &inside;
  inside.fetch_sub(1);
  // Until the Exclusive guard is gone. There is none while this thread has the mutex.
  Lock(mutex_);
  inside.fetch_add(1);
  mutex_.unlock();
  return &inside;
}

void Quiescence::Close() {
  Lock(mutex_);
  closed_.store(true);
  mmu::StepYieldPoint();
  // Either a thread that enters sees the gate closed, or the loop below sees it inside.
  if (internal::kMembarrier) Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (Lane& lane : lanes_) {
    while (lane.inside.load() != 0) {
      mmu::SpinYieldPoint();
      std::this_thread::yield();
    }
  }
}

void Quiescence::Open() {
  closed_.store(false, std::memory_order_release);
  mutex_.unlock();
}

}  // namespace papr::hcall
