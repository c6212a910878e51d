// Waiting for another thread that holds a lock for some nanoseconds.

#ifndef MMU_SPIN_WAIT_H_
#define MMU_SPIN_WAIT_H_

#include <thread>

#include "mmu/yield_point.h"

namespace papr::mmu {

// One object a wait, for one thread.
class SpinWait {
 public:
  // One step. After many of them the holder is probably not running, and gets this processor.
  void Step() {
    SpinYieldPoint();
    if (++steps_ >= kSteps) {
      std::this_thread::yield();
      return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

 private:
  static constexpr int kSteps = 64;  // about 2 us
  int steps_ = 0;
};

}  // namespace papr::mmu

#endif  // MMU_SPIN_WAIT_H_
