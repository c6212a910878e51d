// How Linux on the hash MMU turns an effective address of a context into a virtual address: segment
// sizes, proto-VSIDs and their scrambling over a 68-bit virtual address space. Pure functions.

#ifndef CLIENT_GUEST_MM_CONTEXT_H_
#define CLIENT_GUEST_MM_CONTEXT_H_

#include <cstdint>

#include "mmu/virtual_address.h"

namespace papr::client::guest {

// Context ids of user address spaces: lowest first from here, on a kernel with 64K and with 4K
// pages.
inline constexpr uint64_t kFirstUserContext64K = 9;
inline constexpr uint64_t kFirstUserContext4K = 6;

// 256 MB segments below 1 TB, 1 TB segments from there on.
constexpr mmu::SegmentSize SegmentSizeOf(uint64_t effective_address) {
  return effective_address >> mmu::SegmentShift(mmu::SegmentSize::k1T) == 0
             ? mmu::SegmentSize::k256M
             : mmu::SegmentSize::k1T;
}

// Context id and segment number, before scrambling: the segments of one context are 49 address
// bits.
constexpr uint64_t ProtoVsid(uint64_t context, uint64_t effective_address,
                             mmu::SegmentSize segment) {
  const int shift = mmu::SegmentShift(segment);
  const int segment_bits = 49 - shift;
  const uint64_t segment_number =
      (effective_address >> shift) & ((uint64_t{1} << segment_bits) - 1);
  return (context << segment_bits) | segment_number;
}

// The proto-VSID times a prime, modulo 2^40 - 1 (256 MB segments) or 2^28 - 1 (1 TB), so that
// neighbours spread over the table.
constexpr uint64_t ScrambleVsid(uint64_t proto_vsid, mmu::SegmentSize segment) {
  constexpr uint64_t kMultiplier = 12538073;
  const int bits = 68 - mmu::SegmentShift(segment);
  const uint64_t modulus = (uint64_t{1} << bits) - 1;
  const uint64_t product = proto_vsid * kMultiplier;
  const uint64_t folded = (product >> bits) + (product & modulus);
  return (folded + ((folded + 1) >> bits)) & modulus;
}

constexpr mmu::VirtualAddress VirtualAddressOf(uint64_t context, uint64_t effective_address) {
  const mmu::SegmentSize segment = SegmentSizeOf(effective_address);
  const uint64_t vsid = ScrambleVsid(ProtoVsid(context, effective_address, segment), segment);
  return mmu::MakeVirtualAddress(segment, vsid, effective_address);
}

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_MM_CONTEXT_H_
