// The hashed page table entry (HPTE): two doublewords, V and R, in the format that PAPR hcalls use
// (Power ISA 2.07 Book III, "Page Table"; also on ISA 3.0 hosts), and its conversion to and from
// the format that ISA 3.0 hardware reads. Pure constants and functions; any thread may use them.
// Values are host integers; an HPTE in memory of a real machine or in an export is big-endian.

#ifndef MMU_HPTE_H_
#define MMU_HPTE_H_

#include <cstdint>

namespace papr::mmu {

struct Hpte {
  uint64_t v = 0;  // First doubleword: segment size, AVPN, software bits, L, H, valid.
  uint64_t r = 0;  // Second doubleword: protection, key, RPN and LP, R, C, WIMG, N.

  friend bool operator==(const Hpte&, const Hpte&) = default;
};
static_assert(sizeof(Hpte) == 16);

// PTEG (page table entry group): 8 HPTEs, 128 bytes. ptex = PTEG * 8 + slot.
inline constexpr int kHptesPerPteg = 8;
inline constexpr int kPtegShift = 3;

// First doubleword.
inline constexpr int kVSegmentSizeShift = 62;                          // B, IBM bits 0-1
inline constexpr uint64_t kVSegmentSize = 0xc000000000000000;          // 0: 256 MB, 1: 1 TB
inline constexpr uint64_t kVSegmentSizeReserved = 0x8000000000000000;  // B = 2 or 3
inline constexpr int kVAvpnShift = 7;
inline constexpr uint64_t kVAvpn = 0x3fffffffffffff80;     // IBM bits 2-56, VA >> 23
inline constexpr uint64_t kVCompare = 0xffffffffffffff80;  // B and AVPN: what an AVPN test compares
inline constexpr uint64_t kVSoftwareDirty = 0x40;          // hypervisor's; QEMU: changed since sent
inline constexpr uint64_t kVHypervisor = 0x60;             // both hypervisor-reserved software bits
inline constexpr uint64_t kVBolted = 0x10;    // OS software bit; PAPR resize keeps these
inline constexpr uint64_t kVLarge = 0x4;      // L: R.LP gives the page size
inline constexpr uint64_t kVSecondary = 0x2;  // H: entry sits in its secondary PTEG
inline constexpr uint64_t kVValid = 0x1;

// Second doubleword.
inline constexpr uint64_t kRPp0 = 0x8000000000000000;
inline constexpr uint64_t kRHypervisor =
    0x4000000000000000;  // tag select in 2.0x; hypervisor's here
inline constexpr uint64_t kRKeyHigh = 0x3000000000000000;
inline constexpr uint64_t kRRpn =
    0x0ffffffffffff000;  // real page number; low bits are LP when L = 1
inline constexpr int kRLpShift = 12;
inline constexpr uint64_t kRLp = 0xff000;
inline constexpr uint64_t kRKeyLow = 0xe00;
inline constexpr uint64_t kRReferenced = 0x100;
inline constexpr uint64_t kRChanged = 0x80;
inline constexpr uint64_t kRWriteThrough = 0x40;    // W
inline constexpr uint64_t kRCacheInhibited = 0x20;  // I
inline constexpr uint64_t kRCoherent = 0x10;        // M
inline constexpr uint64_t kRGuarded = 0x08;         // G
inline constexpr int kRWimgShift = 3;
inline constexpr uint64_t kRWimg = 0x78;
inline constexpr uint64_t kRNoExecute = 0x4;
inline constexpr uint64_t kRPp = 0x3;  // PP1, PP2
// Everything that H_PROTECT replaces: pp0, key, N, pp1, pp2.
inline constexpr uint64_t kRProtection = kRPp0 | kRKeyHigh | kRKeyLow | kRNoExecute | kRPp;
static_assert(kRProtection == 0xb000000000000e07);

// Page protection, 0..7: PP0 || PP1 || PP2.
constexpr int PageProtection(uint64_t r) {
  return static_cast<int>((r & kRPp) | ((r & kRPp0) >> 61));
}

// Storage (virtual page class) key, 0..31.
constexpr int StorageKey(uint64_t r) {
  return static_cast<int>(((r & kRKeyHigh) >> 57) | ((r & kRKeyLow) >> 9));
}

// True if the entry matches an AVPN argument: B and AVPN equal, and the argument's low 7 bits
// clear.
constexpr bool MatchesAvpn(uint64_t v, uint64_t avpn) { return (v & kVCompare) == avpn; }

// ISA 3.0 format: B moves from V to R bits 59..58, and V keeps only its low 52 bits.
// Lost: AVPN bits 52..61 of V (VA bits above 67) and R bits 58, 59 (real address bits 58, 59).
inline constexpr uint64_t kIsa3VCommon = 0x000fffffffffffff;
inline constexpr uint64_t kIsa3RSegmentSize = 0x0c00000000000000;

constexpr Hpte ToIsa3(const Hpte& old) {
  return {old.v & kIsa3VCommon,
          (old.r & ~kIsa3RSegmentSize) | ((old.v >> kVSegmentSizeShift) << 58)};
}

constexpr Hpte FromIsa3(const Hpte& isa3) {
  return {(isa3.v & kIsa3VCommon) | ((isa3.r & kIsa3RSegmentSize) << 4),
          isa3.r & ~kIsa3RSegmentSize};
}

}  // namespace papr::mmu

#endif  // MMU_HPTE_H_
