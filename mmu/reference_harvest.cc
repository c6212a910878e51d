#include "mmu/reference_harvest.h"

namespace papr::mmu {
namespace {

constexpr uint64_t kRc = kRReferenced | kRChanged;

// Adds a page to the runs; false if it takes a run beyond `max_runs`.
bool AddPage(uint64_t address, uint64_t bits, size_t max_runs, std::vector<ReferenceRun>& runs) {
  const bool referenced = (bits & kRReferenced) != 0;
  const bool changed = (bits & kRChanged) != 0;
  if (!runs.empty()) {
    ReferenceRun& last = runs.back();
    if (last.address + last.bytes == address && last.referenced == referenced &&
        last.changed == changed) {
      last.bytes += kGuestPageBytes;
      return true;
    }
  }
  if (runs.size() >= max_runs) return false;
  runs.push_back({address, kGuestPageBytes, referenced, changed});
  return true;
}

}  // namespace

ReferenceHarvest::ReferenceHarvest(ReverseMap& map, uint64_t first, Clear clear)
    : map_(map), clear_(clear), next_(first), blocks_(map.sizes().size()) {}

// The sweep comes into the page of this size that holds `address`.
void ReferenceHarvest::Enter(size_t size, uint64_t address) {
  const int shift = map_.sizes()[size];
  const uint64_t begin = address >> shift << shift;
  const auto head = map_.ram().PageAt(begin);
  Block& block = blocks_[size];
  block = {address >> shift, head.value_or(0), 0};
  if (!head.has_value()) return;
  // A list is harvested once, with the smallest size that begins there, if the sweep comes by it;
  // the lists of larger pages that began before the sweep's first page, now.
  if ((size == 0 || begin != address) && map_.HasEntries(*head)) map_.Harvest(*head, kRc);
  block.bits = map_.Harvested(*head, size);
}

void ReferenceHarvest::Leave(size_t size) {
  const Block& block = blocks_[size];
  if (clear_ == Clear::kYes && block.bits != 0) {
    map_.ForgetHarvested(block.head, size, block.bits);
  }
}

void ReferenceHarvest::Advance(uint64_t end, size_t max_runs, std::vector<ReferenceRun>& runs) {
  const std::vector<int>& sizes = map_.sizes();
  uint64_t address = next_ < end ? map_.ram().AddressOf(next_) : 0;
  for (; next_ < end; ++next_) {
    uint64_t bits = 0;
    for (size_t size = 0; size < sizes.size(); ++size) {
      if (blocks_[size].number != address >> sizes[size]) {
        Leave(size);
        Enter(size, address);
      }
      bits |= blocks_[size].bits;
    }
    if (bits != 0 && !AddPage(address, bits, max_runs, runs)) return;
    const uint64_t following = next_ + 1;
    address += kGuestPageBytes;
    if (following < end && map_.ram().PageAt(address) != following) {
      address = map_.ram().AddressOf(following);  // behind a gap in the RAM
    }
  }
}

void ReferenceHarvest::Finish() {
  const GuestRam& ram = map_.ram();
  for (size_t size = 0; size < blocks_.size(); ++size) {
    const bool goes_on =
        next_ < ram.pages() && ram.AddressOf(next_) >> map_.sizes()[size] == blocks_[size].number;
    if (!goes_on) Leave(size);
  }
}

}  // namespace papr::mmu
