#include "mmu/guest_ram.h"

#include <algorithm>

namespace papr::mmu {

GuestRam::GuestRam(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.base < b.base; });
  for (const Region& region : regions) {
    if (!parts_.empty() && parts_.back().base + parts_.back().bytes == region.base) {
      parts_.back().bytes += region.bytes;
    } else {
      parts_.push_back({region.base, region.bytes, pages_});
    }
    pages_ += region.bytes >> kGuestPageShift;
  }
  if (parts_.empty()) parts_.push_back({0, 0, 0});
}

const GuestRam::Part& GuestRam::Search(uint64_t address) const {
  auto next = std::upper_bound(parts_.begin(), parts_.end(), address,
                               [](uint64_t a, const Part& part) { return a < part.base; });
  return next == parts_.begin() ? *next : *--next;
}

uint64_t GuestRam::FirstPageFrom(uint64_t address) const {
  const Part& part = PartOf(address);
  if (address <= part.base) return part.first_page;
  const uint64_t offset = std::min(address - part.base + kGuestPageBytes - 1, part.bytes);
  return part.first_page + (offset >> kGuestPageShift);
}

const GuestRam::Part& GuestRam::PartOfPage(uint64_t page) const {
  auto next = std::upper_bound(parts_.begin(), parts_.end(), page,
                               [](uint64_t p, const Part& part) { return p < part.first_page; });
  return *--next;
}

uint64_t GuestRam::AddressOf(uint64_t page) const {
  const Part& part = PartOfPage(page);
  return part.base + ((page - part.first_page) << kGuestPageShift);
}

uint64_t GuestRam::PartEnd(uint64_t page) const {
  const Part& part = PartOfPage(page);
  return part.first_page + (part.bytes >> kGuestPageShift);
}

void GuestRam::ForEachPart(uint64_t address, uint64_t bytes,
                           absl::FunctionRef<void(uint64_t first, uint64_t count)> visit) const {
  const uint64_t end = address + bytes;
  for (const Part* part = &PartOf(address); part != parts_.data() + parts_.size(); ++part) {
    if (part->base >= end) break;
    const uint64_t from = std::max(address, part->base);
    const uint64_t to = std::min(end, part->base + part->bytes);
    if (from >= to) continue;
    const uint64_t first = part->first_page + ((from - part->base) >> kGuestPageShift);
    visit(first, (to - from + kGuestPageBytes - 1) >> kGuestPageShift);
  }
}

}  // namespace papr::mmu
