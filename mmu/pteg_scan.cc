#include "mmu/pteg_scan.h"

#include "mmu/yield_point.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace papr::mmu {
namespace {

// Not where a test steps between the slots of a scan.
bool HasAvx2() {
#if defined(__x86_64__)
  return !kYieldPoints && __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace

namespace internal {
std::atomic<bool> use_avx2{HasAvx2()};
}

std::string_view PtegScanName(PtegScan scan) {
  return scan == PtegScan::kAvx2 ? "avx2" : "portable";
}

PtegScan BestPtegScan() { return HasAvx2() ? PtegScan::kAvx2 : PtegScan::kPortable; }

bool SetPtegScan(PtegScan scan) {
  if (scan == PtegScan::kAvx2 && !HasAvx2()) return false;
  internal::use_avx2.store(scan == PtegScan::kAvx2, std::memory_order_relaxed);
  return true;
}

// All eight are looked at whatever the first holds, so that both cache lines are fetched at once
// and no branch has to be guessed.
uint32_t MatchSlotsPortable(const AtomicHpte* pteg, uint64_t mask, uint64_t want) {
  uint32_t matches = 0;
  for (int slot = 0; slot < kHptesPerPteg; ++slot) {
    StepYieldPoint();
    const uint64_t v = pteg[slot].v.load(std::memory_order_acquire);
    matches |= uint32_t{(v & mask) == want} << slot;
  }
  return matches;
}

#if defined(__x86_64__)

// ThreadSanitizer would take the vector loads for plain ones; like every aligned load of this
// width, they read each doubleword whole, and x86 orders loads.
__attribute__((target("avx2"), no_sanitize_thread)) uint32_t MatchSlotsAvx2(const AtomicHpte* pteg,
                                                                            uint64_t mask,
                                                                            uint64_t want) {
  const auto* lines = reinterpret_cast<const __m256i*>(pteg);
  const __m256i masks = _mm256_set1_epi64x(static_cast<int64_t>(mask));
  const __m256i wants = _mm256_set1_epi64x(static_cast<int64_t>(want));
  // V of slots 0 2 1 3 and of 4 6 5 7.
  const __m256i low = _mm256_unpacklo_epi64(_mm256_load_si256(lines), _mm256_load_si256(lines + 1));
  const __m256i high =
      _mm256_unpacklo_epi64(_mm256_load_si256(lines + 2), _mm256_load_si256(lines + 3));
  const auto match = [&](__m256i v) __attribute__((target("avx2"))) {
    const __m256i equal = _mm256_cmpeq_epi64(_mm256_and_si256(v, masks), wants);
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
  };
  const uint32_t matches = match(low) | match(high) << 4;
  return (matches & 0x99) | (matches & 0x22) << 1 | (matches & 0x44) >> 1;
}

#else

uint32_t MatchSlotsAvx2(const AtomicHpte* pteg, uint64_t mask, uint64_t want) {
  return MatchSlotsPortable(pteg, mask, want);
}

#endif

}  // namespace papr::mmu
