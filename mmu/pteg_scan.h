// Looks at the eight first doublewords of a PTEG at once: which slots match? With AVX2 where the
// processor has it, else in portable code without branches. Neither takes locks: what matches is a
// hint, to be tested again under the entry's lock.
//
// Threads: any. Each doubleword is read whole, the eight not at one moment.

#ifndef MMU_PTEG_SCAN_H_
#define MMU_PTEG_SCAN_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "mmu/hpte.h"

namespace papr::mmu {

// An HPTE in a table in memory.
struct AtomicHpte {
  std::atomic<uint64_t> v;
  std::atomic<uint64_t> r;
};
static_assert(sizeof(AtomicHpte) == sizeof(Hpte) && std::atomic<uint64_t>::is_always_lock_free);

enum class PtegScan : uint8_t { kPortable, kAvx2 };
std::string_view PtegScanName(PtegScan scan);  // "portable", "avx2"
// The fastest that this processor and this build have; what is in use unless SetPtegScan() says
// otherwise.
PtegScan BestPtegScan();
// Makes the process use `scan`, for tests and benchmarks. False, and nothing changes, if this
// processor or build does not have it. Searches in progress may still use the other.
bool SetPtegScan(PtegScan scan);

// Bit i is set if (V of slot i & mask) == want. `pteg` points to kHptesPerPteg entries and is
// aligned to their 128 bytes.
uint32_t MatchSlotsPortable(const AtomicHpte* pteg, uint64_t mask, uint64_t want);
// Requires AVX2.
uint32_t MatchSlotsAvx2(const AtomicHpte* pteg, uint64_t mask, uint64_t want);

namespace internal {
extern std::atomic<bool> use_avx2;
}

inline uint32_t MatchSlots(const AtomicHpte* pteg, uint64_t mask, uint64_t want) {
  return internal::use_avx2.load(std::memory_order_relaxed) ? MatchSlotsAvx2(pteg, mask, want)
                                                            : MatchSlotsPortable(pteg, mask, want);
}

}  // namespace papr::mmu

#endif  // MMU_PTEG_SCAN_H_
