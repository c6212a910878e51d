#include "tests/model/reference_entry.h"

namespace papr::model {
namespace {

uint64_t LowBits(int count) { return (uint64_t{1} << count) - 1; }

// The segment's share of the hash.
uint64_t SegmentHash(int segment_shift, uint64_t vsid) {
  return segment_shift == 40 ? vsid ^ (vsid << 25) : vsid;
}

// AVPN without the bits that lie inside a base page of more than 8 MB.
uint64_t WithoutPageBits(uint64_t avpn, int base_shift) {
  return base_shift > 23 ? avpn & ~LowBits(base_shift - 23) : avpn;
}

}  // namespace

std::optional<mmu::PageSizes> DecodePageSizes(const mmu::PageSizeTable& table, uint64_t v,
                                              uint64_t r) {
  if ((v & kLarge) == 0) return mmu::PageSizes{12, 12};
  for (const mmu::SegmentPageSize& segment : table.segments()) {
    for (const mmu::SegmentPageSize::Encoding& encoding : segment.encodings) {
      if (encoding.actual == 12) continue;  // L = 0 is the only way to say 4K.
      uint64_t compared = LowBits(encoding.actual) & kRealPage;
      if (table.match() == mmu::PageSizeTable::Match::kLpField) compared &= 0xff000;
      if ((r & compared) == uint64_t{encoding.lp} << 12) {
        return mmu::PageSizes{segment.base, encoding.actual};
      }
    }
  }
  return std::nullopt;
}

uint64_t HashOf(const VirtualPage& page) {
  return (SegmentHash(page.segment_shift, page.vsid) ^ (page.offset >> page.base_shift)) &
         0x7fffffffff;
}

uint64_t AvpnOf(const VirtualPage& page) {
  const uint64_t avpn = (page.vsid << (page.segment_shift - 23)) | (page.offset >> 23);
  return (WithoutPageBits(avpn, page.base_shift) << 7) |
         (page.segment_shift == 40 ? kTerabyteSegment : 0);
}

uint64_t BlockOf(const VirtualPage& page) {
  const int block_shift = page.base_shift + 3;
  if (block_shift > page.segment_shift) return page.vsid >> (block_shift - page.segment_shift);
  return (page.vsid << (page.segment_shift - block_shift)) | (page.offset >> block_shift);
}

uint64_t GroupStart(uint64_t hash, bool secondary, uint64_t group_mask) {
  return ((secondary ? ~hash : hash) & group_mask) * kSlots;
}

uint64_t RecoverableBits(int base_shift) { return base_shift < 23 ? LowBits(23 - base_shift) : 0; }

VirtualPage RecoverPage(uint64_t v, int base_shift, uint64_t ptex, uint64_t group_mask) {
  VirtualPage page;
  // Reserved values of B, which only QEMU lets in, count as 1 TB.
  page.segment_shift = (v >> 62) != 0 ? 40 : 28;
  page.base_shift = base_shift;
  const uint64_t avpn = WithoutPageBits((v & kAvpn) >> 7, base_shift);
  page.vsid = avpn >> (page.segment_shift - 23);
  page.offset = (avpn & LowBits(page.segment_shift - 23)) << 23;
  if (base_shift < 23) {
    uint64_t group = ptex / kSlots;
    if ((v & kSecondary) != 0) group = ~group;
    const uint64_t low = (group ^ SegmentHash(page.segment_shift, page.vsid)) & group_mask;
    page.offset |= low << base_shift;
  }
  return page;
}

uint64_t DigestTerm(uint64_t ptex, const Entry& entry) {
  return ((entry.v & ~kHypervisorBits) * 0x9E3779B97F4A7C15 + entry.r * 0xC2B2AE3D27D4EB4F) *
         (2 * ptex + 1);
}

}  // namespace papr::model
