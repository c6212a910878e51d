// The HPTE as the specification writes it, for the reference model only: masks, page-size decoding,
// the hash and the way back from an entry to its virtual page. Plain and slow on purpose, and apart
// from mmu/: a mistake there must not be made here too. Pure functions; any thread may use them.

#ifndef TESTS_MODEL_REFERENCE_ENTRY_H_
#define TESTS_MODEL_REFERENCE_ENTRY_H_

#include <cstdint>
#include <optional>

#include "mmu/page_size.h"

namespace papr::model {

// One HPTE: V and R.
struct Entry {
  uint64_t v = 0;
  uint64_t r = 0;

  friend bool operator==(const Entry&, const Entry&) = default;
};

inline constexpr int kSlots = 8;  // HPTEs in a PTEG

// Fields of V.
inline constexpr uint64_t kSegmentSizeReserved = 0x8000000000000000;  // B = 2 or 3
inline constexpr uint64_t kTerabyteSegment = 0x4000000000000000;      // B = 1
inline constexpr uint64_t kAvpn = 0x3fffffffffffff80;
inline constexpr uint64_t kDirty = 0x40;  // QEMU: changed since a migration sent it
inline constexpr uint64_t kHypervisorBits = 0x60;
inline constexpr uint64_t kBolted = 0x10;
inline constexpr uint64_t kLarge = 0x4;
inline constexpr uint64_t kSecondary = 0x2;
inline constexpr uint64_t kPresent = 0x1;

// Fields of R.
inline constexpr uint64_t kHypervisorR = 0x4000000000000000;
inline constexpr uint64_t kRealPage = 0x0ffffffffffff000;
inline constexpr uint64_t kReferenced = 0x100;
inline constexpr uint64_t kChanged = 0x80;
inline constexpr uint64_t kWimg = 0x78;
inline constexpr uint64_t kProtectMask = 0xb000000000000e07;

// Base and actual page size of an entry with words `v` and `r`, or nothing if `table` has no such
// encoding. Reads the table's lines, not its decoder.
std::optional<mmu::PageSizes> DecodePageSizes(const mmu::PageSizeTable& table, uint64_t v,
                                              uint64_t r);

// A virtual address, in parts: its 78 bits do not fit one word.
struct VirtualPage {
  int segment_shift = 28;  // 28 or 40
  int base_shift = 12;     // log2 of the base page size
  uint64_t vsid = 0;
  uint64_t offset = 0;  // bytes into the segment
};

// The hash value, 39 bits.
uint64_t HashOf(const VirtualPage& page);
// The word that an AVPN test compares: B and AVPN, low 7 bits zero.
uint64_t AvpnOf(const VirtualPage& page);
// The number of the base page in the whole virtual address space, shifted right by 3: two pages
// with one such number lie in one block of 8.
uint64_t BlockOf(const VirtualPage& page);

// First entry of the group that `hash` selects. `group_mask` is the number of groups less 1.
uint64_t GroupStart(uint64_t hash, bool secondary, uint64_t group_mask);

// The virtual page of the entry `v` of base page size 2^base_shift that stands at `ptex`.
// `group_mask` says how many bits of its group number to use: RecoverableBits() gives what the
// address needs; a resize takes the mask of the table.
VirtualPage RecoverPage(uint64_t v, int base_shift, uint64_t ptex, uint64_t group_mask);
// The page-number bits below 2^23 that an AVPN lacks, as a mask.
uint64_t RecoverableBits(int base_shift);

// The term of one valid entry in a table's digest; the digest is the sum modulo 2^64.
uint64_t DigestTerm(uint64_t ptex, const Entry& entry);

}  // namespace papr::model

#endif  // TESTS_MODEL_REFERENCE_ENTRY_H_
