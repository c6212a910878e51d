#include "mmu/virtual_address.h"

namespace papr::mmu {
namespace {

// PTEG number as hash bits: the secondary PTEG is the complement of the hash.
uint64_t HashOfPteg(const Hpte& hpte, uint64_t ptex) {
  const uint64_t pteg = ptex >> kPtegShift;
  return (hpte.v & kVSecondary) != 0 ? ~pteg : pteg;
}

}  // namespace

bool HashesTo(const Hpte& hpte, uint64_t ptex, int base_shift, uint64_t hash_mask) {
  const uint64_t hash = Hash(RecoverVirtualAddress(hpte, ptex, base_shift), base_shift);
  return ((hash ^ HashOfPteg(hpte, ptex)) & hash_mask) == 0;
}

uint64_t RehashHash(const Hpte& hpte, uint64_t ptex, int base_shift, uint64_t old_mask) {
  VirtualAddress va = RecoverVirtualAddress(hpte, ptex, base_shift);
  if (base_shift < 23) {
    const uint64_t vsid_hash = va.segment == SegmentSize::k1T ? va.vsid ^ (va.vsid << 25) : va.vsid;
    va.offset |= ((HashOfPteg(hpte, ptex) ^ vsid_hash) & old_mask) << base_shift;
  }
  return Hash(va, base_shift);
}

uint64_t TlbieOperand(const Hpte& hpte, uint64_t ptex, PageSizes sizes) {
  const int segment_shift = (hpte.v & kVSegmentSize) == 0 ? 28 : 40;
  const uint64_t page = (HashOfPteg(hpte, ptex) ^ (hpte.v >> (segment_shift - 16))) & 0x7ff;
  uint64_t rb = (hpte.v & ~uint64_t{0x7f}) << 16;
  if (sizes.base == k4K) {
    rb |= page << 12;
    // AP field: the actual page size of a 4K base page (IBM bits 56-58).
    if (sizes.actual == k64K) rb |= uint64_t{5} << 5;
    if (sizes.actual == k16M) rb |= uint64_t{4} << 5;
  } else {
    const uint64_t in_page = (uint64_t{1} << sizes.actual) - 1;
    rb |= (page << sizes.base) & 0x7ff000;
    rb &= ~in_page;
    rb |= (page << (sizes.base - 12)) & 0xfe;  // AVAL: low page number bits of the base page
    rb |= 1;                                   // L
    rb |= hpte.r & kRLp & in_page;             // LP
  }
  return rb | (hpte.v >> kVSegmentSizeShift) << 8;  // B
}

}  // namespace papr::mmu
