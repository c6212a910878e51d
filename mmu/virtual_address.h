// Virtual addresses of the hash MMU: segments, VPN, the hash functions, the AVPN word, and the way
// back from an HPTE and its place to the virtual address. A virtual address has up to 78 bits and
// is never formed in 64: it travels as (segment size, VSID, offset in the segment). Pure functions;
// any thread may use them.
//
// Sources: Power ISA 2.07 Book III, "Page Table Search" and "Virtual Address"; checked against the
// worked examples under tests/.

#ifndef MMU_VIRTUAL_ADDRESS_H_
#define MMU_VIRTUAL_ADDRESS_H_

#include <cstdint>

#include "mmu/hpte.h"
#include "mmu/page_size.h"

namespace papr::mmu {

enum class SegmentSize : uint8_t { k256M = 0, k1T = 1 };  // values of the B field

// log2 of bytes: 28 or 40.
constexpr int SegmentShift(SegmentSize size) { return size == SegmentSize::k1T ? 40 : 28; }

inline constexpr uint64_t kHashMask = 0x7fffffffff;  // 39 bits: what order 46 needs

struct VirtualAddress {
  SegmentSize segment = SegmentSize::k256M;
  uint64_t vsid = 0;    // up to 50 bits (256 MB) or 38 bits (1 TB)
  uint64_t offset = 0;  // in the segment, below 1 << SegmentShift

  friend bool operator==(const VirtualAddress&, const VirtualAddress&) = default;
};

// The address of `effective_address` in the segment that `vsid` names.
constexpr VirtualAddress MakeVirtualAddress(SegmentSize segment, uint64_t vsid,
                                            uint64_t effective_address) {
  return {segment, vsid, effective_address & ((uint64_t{1} << SegmentShift(segment)) - 1)};
}

// Virtual page number in units of 4K (VA >> 12), as Linux forms it.
constexpr uint64_t Vpn(const VirtualAddress& va) {
  return (va.vsid << (SegmentShift(va.segment) - 12)) | (va.offset >> 12);
}

// First address of the aligned 2^shift bytes of its segment that hold `va`: equal for two addresses
// if they share a page, or a block of pages, of that size.
constexpr VirtualAddress RoundDown(const VirtualAddress& va, int shift) {
  return {va.segment, va.vsid, va.offset & ~((uint64_t{1} << shift) - 1)};
}

// Primary hash, 39 bits. The primary PTEG is hash & mask, the secondary ~hash & mask.
constexpr uint64_t Hash(const VirtualAddress& va, int base_shift) {
  uint64_t hash = va.vsid ^ (va.offset >> base_shift);
  if (va.segment == SegmentSize::k1T) hash ^= va.vsid << 25;
  return hash & kHashMask;
}

// V with B and AVPN of the page, low 7 bits zero: the argument of every AVPN test. OR flags into it
// to make V of an entry.
constexpr uint64_t AvpnWord(const VirtualAddress& va, int base_shift) {
  uint64_t ava = (va.vsid << (SegmentShift(va.segment) - 23)) | (va.offset >> 23);
  if (base_shift > 23) ava &= ~((uint64_t{1} << (base_shift - 23)) - 1);
  return ((ava << kVAvpnShift) & kVAvpn) |
         (static_cast<uint64_t>(va.segment) << kVSegmentSizeShift);
}

// Virtual address of the base page that entry `hpte` maps, from its words and its place: the VA
// bits below 2^23 that the AVPN lacks come from the PTEG number (11 bits for 4K, 7 for 64K, which
// any table has). `base_shift` is its base page size. For an entry in a PTEG that its address does
// not hash to, the result is some address of the same AVPN: HashesTo() tells.
constexpr VirtualAddress RecoverVirtualAddress(const Hpte& hpte, uint64_t ptex, int base_shift) {
  VirtualAddress va;
  va.segment = (hpte.v & kVSegmentSize) == 0 ? SegmentSize::k256M : SegmentSize::k1T;
  const int shift = SegmentShift(va.segment);
  uint64_t ava = (hpte.v & kVAvpn) >> kVAvpnShift;
  if (base_shift > 23) ava &= ~((uint64_t{1} << (base_shift - 23)) - 1);
  va.vsid = ava >> (shift - 23);
  va.offset = (ava & ((uint64_t{1} << (shift - 23)) - 1)) << 23;
  if (base_shift < 23) {
    const uint64_t pteg = (hpte.v & kVSecondary) != 0 ? ~(ptex >> kPtegShift) : ptex >> kPtegShift;
    const uint64_t vsid_hash = va.segment == SegmentSize::k1T ? va.vsid ^ (va.vsid << 25) : va.vsid;
    const uint64_t low = (pteg ^ vsid_hash) & ((uint64_t{1} << (23 - base_shift)) - 1);
    va.offset |= low << base_shift;
  }
  return va;
}

// True if the entry at `ptex` sits in the PTEG that its own address hashes to, under `hash_mask`.
bool HashesTo(const Hpte& hpte, uint64_t ptex, int base_shift, uint64_t hash_mask);

// Hash that a resize gives an entry: as Hash(RecoverVirtualAddress()), but all bits of the old PTEG
// number under `old_mask` go into it. They are the same for an entry whose address hashes to its
// PTEG; any other entry keeps its PTEG number where it can (PAPR leaves it undefined; KVM-HV does
// this).
uint64_t RehashHash(const Hpte& hpte, uint64_t ptex, int base_shift, uint64_t old_mask);

// RB operand of the tlbie that invalidates the entry's translation (Power ISA 2.07 Book III,
// tlbie).
uint64_t TlbieOperand(const Hpte& hpte, uint64_t ptex, PageSizes sizes);

}  // namespace papr::mmu

#endif  // MMU_VIRTUAL_ADDRESS_H_
