// The RAM of a guest as one row of 4 KB pages: what is kept for each page of RAM lies in an array
// by page number, without gaps for what is no RAM. Immutable; any thread may ask.

#ifndef MMU_GUEST_RAM_H_
#define MMU_GUEST_RAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"

namespace papr::mmu {

inline constexpr int kGuestPageShift = 12;
inline constexpr uint64_t kGuestPageBytes = uint64_t{1} << kGuestPageShift;

class GuestRam {
 public:
  struct Region {
    uint64_t base = 0;   // guest real address, a multiple of 4 KB
    uint64_t bytes = 0;  // a multiple of 4 KB, not 0
  };

  // Regions in any order; they must not overlap, nor end beyond 2^60.
  explicit GuestRam(std::vector<Region> regions);

  uint64_t pages() const { return pages_; }

  // Number of the page that holds guest real `address`; nothing if that is no RAM.
  std::optional<uint64_t> PageAt(uint64_t address) const {
    const Part& part = PartOf(address);
    const uint64_t offset = address - part.base;
    if (offset >= part.bytes) return std::nullopt;
    return part.first_page + (offset >> kGuestPageShift);
  }
  // Number of the first page at or behind guest real `address`; pages() if there is none.
  uint64_t FirstPageFrom(uint64_t address) const;
  // Guest real address of a page. Requires page < pages().
  uint64_t AddressOf(uint64_t page) const;
  // The number behind that of the last page that lies in one piece with `page`. Requires page <
  // pages().
  uint64_t PartEnd(uint64_t page) const;
  // Calls visit(first page, pages) for what of [address, address + bytes) is RAM, in ascending
  // order.
  void ForEachPart(uint64_t address, uint64_t bytes,
                   absl::FunctionRef<void(uint64_t first, uint64_t count)> visit) const;

 private:
  struct Part {
    uint64_t base;
    uint64_t bytes;
    uint64_t first_page;
  };

  // The last part that begins at or below `address`, or else the first.
  const Part& PartOf(uint64_t address) const {
    return parts_.size() == 1 ? parts_.front() : Search(address);
  }
  const Part& Search(uint64_t address) const;
  const Part& PartOfPage(uint64_t page) const;

  std::vector<Part> parts_;  // ascending, at least one; neighbours that touch are one
  uint64_t pages_ = 0;
};

}  // namespace papr::mmu

#endif  // MMU_GUEST_RAM_H_
