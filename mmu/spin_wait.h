// One step of waiting for another thread that holds a lock for some nanoseconds.

#ifndef MMU_SPIN_WAIT_H_
#define MMU_SPIN_WAIT_H_

#include "mmu/yield_point.h"

namespace papr::mmu {

inline void SpinWait() {
  SpinYieldPoint();
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace papr::mmu

#endif  // MMU_SPIN_WAIT_H_
