// Page sizes of the hash MMU. A mapping has a base page size (from its segment: drives the hash and
// the AVPN) and an actual page size (from the HPTE's L and LP: drives RPN and translation); actual
// >= base. A PageSizeTable lists the pairs that a processor offers, as `ibm,segment-page-sizes`
// does. Tables are immutable once built; any thread may decode with one.
//
// Sources: Power ISA 2.07 Book III, "Virtual Page Number" and LP encodings; LoPAR
// "ibm,segment-page-sizes"; the encodings of POWER7 to POWER9.

#ifndef MMU_PAGE_SIZE_H_
#define MMU_PAGE_SIZE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mmu/hpte.h"

namespace papr::mmu {

// log2 of bytes.
inline constexpr int k4K = 12;
inline constexpr int k64K = 16;
inline constexpr int k16M = 24;
inline constexpr int k16G = 34;

struct PageSizes {
  int base = k4K;    // log2 of bytes
  int actual = k4K;  // log2 of bytes

  friend bool operator==(const PageSizes&, const PageSizes&) = default;
};

// One segment base page size and the actual sizes that may be mixed into it.
struct SegmentPageSize {
  struct Encoding {
    int actual = k4K;  // log2 of bytes
    uint32_t lp = 0;   // "penc": value of the low LP bits of R (R bit 12 up) for this size

    friend bool operator==(const Encoding&, const Encoding&) = default;
  };
  int base = k4K;    // log2 of bytes
  uint32_t slb = 0;  // L and LP of the SLB VSID doubleword, mask 0x130
  std::vector<Encoding> encodings;

  friend bool operator==(const SegmentPageSize&, const SegmentPageSize&) = default;
};

class PageSizeTable {
 public:
  // How much of R below the actual page size must equal the encoding.
  enum class Match : uint8_t {
    kLpField,    // the 8-bit LP field only (KVM-HV): address bits below a large page are ignored
    kWholePage,  // every RPN bit below the actual page size (QEMU)
  };

  // Builds a table. INVALID_ARGUMENT (the offending line named) if a size is outside 12..40, an
  // actual size is below its base, an SLB encoding has bits outside 0x130, an LP does not fit below
  // its page (4K has none: 0), a base, an SLB encoding or a pair stands twice, or an HPTE could
  // have the LP of two encodings.
  static absl::StatusOr<PageSizeTable> Create(std::vector<SegmentPageSize> segments, Match match);

  // All seven pairs of POWER7 to POWER9 (4K: 4K 64K 16M; 64K: 64K 16M; 16M; 16G).
  static const PageSizeTable& Power();
  // What QEMU TCG's pseries offers by default: 4K/4K and 64K/64K, whole-page match.
  static const PageSizeTable& QemuDefault();

  // Page sizes of an HPTE, or nothing if L is set and LP is no encoding of the table. With L clear
  // always 4K/4K.
  std::optional<PageSizes> Decode(uint64_t v, uint64_t r) const {
    if ((v & kVLarge) == 0) return PageSizes{k4K, k4K};
    const Line& line = lines_[line_of_lp_[(r & kRLp) >> kRLpShift]];
    if ((r & line.mask) != line.value) return std::nullopt;
    return line.sizes;
  }

  // The LP encoding of a pair, or nothing if the table lacks it.
  std::optional<uint32_t> LpOf(PageSizes sizes) const;

  const std::vector<SegmentPageSize>& segments() const { return segments_; }
  Match match() const { return match_; }

 private:
  struct Line {  // one encoding with L = 1
    uint64_t mask;
    uint64_t value;
    PageSizes sizes;
  };
  static constexpr Line kNoLine = {0, 1, {}};  // matches nothing

  // Makes `lines_` and `line_of_lp_` of `segments_`.
  absl::Status AddLines();

  std::vector<SegmentPageSize> segments_;
  Match match_ = Match::kLpField;
  std::vector<Line> lines_ = {kNoLine};
  std::array<uint8_t, 256> line_of_lp_{};  // LP byte -> the one line that may match
};

// R of a new mapping: real address rounded down to the page, LP in place, `bits` (WIMG, PP, N, key,
// R, C) added. `lp` is the encoding of the actual size; ignored for 4K.
constexpr uint64_t EncodeR(uint64_t real_address, int actual_shift, uint32_t lp, uint64_t bits) {
  const uint64_t page = real_address & ~((uint64_t{1} << actual_shift) - 1) & 0x0ffffffffffff000;
  return page | (actual_shift > k4K ? uint64_t{lp} << 12 : 0) | bits;
}

}  // namespace papr::mmu

#endif  // MMU_PAGE_SIZE_H_
