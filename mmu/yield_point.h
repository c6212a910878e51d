// Places where a test may let another thread run, so that operations which take nanoseconds overlap
// at every step. Only in programs built with PAPR_YIELD_POINTS; elsewhere they are nothing.

#ifndef MMU_YIELD_POINT_H_
#define MMU_YIELD_POINT_H_

namespace papr::mmu {

#if defined(PAPR_YIELD_POINTS)
inline constexpr bool kYieldPoints = true;
// Defined by the test program. kSpin: the caller waits for another thread, which must run first.
enum class YieldPointKind { kStep, kSpin };
void YieldPoint(YieldPointKind kind);
inline void StepYieldPoint() { YieldPoint(YieldPointKind::kStep); }
inline void SpinYieldPoint() { YieldPoint(YieldPointKind::kSpin); }
#else
inline constexpr bool kYieldPoints = false;
inline void StepYieldPoint() {}
inline void SpinYieldPoint() {}
#endif

// For a test of the tests: entries are changed without their locks.
#if defined(PAPR_BREAK_ENTRY_LOCK)
inline constexpr bool kEntryLockBroken = true;
#else
inline constexpr bool kEntryLockBroken = false;
#endif

}  // namespace papr::mmu

#endif  // MMU_YIELD_POINT_H_
