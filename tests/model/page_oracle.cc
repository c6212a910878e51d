#include "tests/model/page_oracle.h"

#include <algorithm>

namespace papr::model {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kR = mmu::kRReferenced;
constexpr uint64_t kC = mmu::kRChanged;

}  // namespace

PageOracle::PageOracle(hcall::Partition& partition)
    : partition_(partition), entries_(ReadTable()) {}

bool PageOracle::IsRam(uint64_t address) const { return HoldsRam(address, address + 1); }

std::optional<PageOracle::Page> PageOracle::PageOf(const mmu::Hpte& hpte) const {
  const auto sizes = partition_.config().page_sizes.Decode(hpte.v, hpte.r);
  if (!sizes.has_value()) return std::nullopt;
  const uint64_t bytes = uint64_t{1} << sizes->actual;
  const uint64_t address = (hpte.r & mmu::kRRpn) / bytes * bytes;
  if (!IsRam(address)) return std::nullopt;
  return Page{address, sizes->actual};
}

std::map<uint64_t, mmu::Hpte> PageOracle::ReadTable() const {
  std::map<uint64_t, mmu::Hpte> entries;
  const mmu::HashPageTable& table = partition_.table();
  for (uint64_t ptex = 0; ptex < table.entry_count(); ++ptex) {
    const mmu::Hpte hpte = table.Read(ptex);
    if ((hpte.v & mmu::kVValid) != 0) entries.emplace_hint(entries.end(), ptex, hpte);
  }
  return entries;
}

void PageOracle::Referenced(const Page& page, uint64_t bits) {
  if ((bits & (kR | kC)) != 0) harvest_[page] |= bits & (kR | kC);
}

void PageOracle::Changed(const Page& page) {
  const uint64_t end = page.address + (uint64_t{1} << page.shift);
  for (const hcall::MemoryRegion& region : partition_.config().memory) {
    if (region.kind != hcall::MemoryRegion::Kind::kRam) continue;
    uint64_t address = std::max(page.address, region.base);
    for (; address < std::min(end, region.base + region.size); address += kPageBytes) {
      dirty_.insert(dirty_.end(), address);
    }
  }
}

void PageOracle::AfterStep() {
  std::map<uint64_t, mmu::Hpte> now = ReadTable();
  for (const auto& [ptex, hpte] : now) {
    const auto before = entries_.find(ptex);
    const bool known = before != entries_.end();
    if (known && before->second == hpte) continue;
    const auto page = PageOf(hpte);
    if (!page.has_value()) continue;
    const bool same = known && PageOf(before->second) == page;
    const uint64_t fresh = same ? hpte.r & ~before->second.r : hpte.r;
    Referenced(*page, fresh);
    if ((fresh & kC) != 0) Changed(*page);
  }
  entries_ = std::move(now);
}

void PageOracle::AfterWalk(const hcall::ReferenceChange& walked) {
  const auto entry = entries_.find(walked.ptex);
  if (entry == entries_.end()) return;
  const uint64_t bits = (walked.referenced ? kR : 0) | (walked.changed ? kC : 0);
  if (const auto page = PageOf(entry->second)) {
    Referenced(*page, bits);
    if (walked.changed) Changed(*page);
  }
  entry->second.r |= bits;
}

void PageOracle::AfterNewTable() { entries_ = ReadTable(); }

bool PageOracle::HoldsRam(uint64_t begin, uint64_t end) const {
  const auto& memory = partition_.config().memory;
  return std::any_of(memory.begin(), memory.end(), [&](const hcall::MemoryRegion& region) {
    return region.kind == hcall::MemoryRegion::Kind::kRam &&
           std::max(begin, region.base) < std::min(end, region.base + region.size);
  });
}

std::vector<uint64_t> PageOracle::Mapping(uint64_t base, uint64_t bytes) const {
  std::vector<uint64_t> found;
  for (const auto& [ptex, hpte] : entries_) {
    const auto page = PageOf(hpte);
    if (!page.has_value()) continue;
    const uint64_t page_end = page->address + (uint64_t{1} << page->shift);
    if (HoldsRam(std::max(base, page->address), std::min(base + bytes, page_end))) {
      found.push_back(ptex);
    }
  }
  return found;
}

std::vector<mmu::ReferenceRun> PageOracle::Harvest(uint64_t base, uint64_t end, bool clear) {
  std::vector<mmu::ReferenceRun> runs;
  std::set<Page> met;
  for (uint64_t address = base; address < end; address += kPageBytes) {
    if (!IsRam(address)) continue;
    uint64_t bits = 0;
    for (const auto& [page, told] : harvest_) {
      if (address >> page.shift != page.address >> page.shift) continue;
      bits |= told;
      met.insert(page);
    }
    if (bits == 0) continue;
    const bool r = (bits & kR) != 0;
    const bool c = (bits & kC) != 0;
    if (!runs.empty() && runs.back().address + runs.back().bytes == address &&
        runs.back().referenced == r && runs.back().changed == c) {
      runs.back().bytes += kPageBytes;
    } else {
      runs.push_back({address, kPageBytes, r, c});
    }
  }
  for (const Page& page : met) {
    const bool ends = !HoldsRam(end, page.address + (uint64_t{1} << page.shift));
    if (clear && ends) harvest_.erase(page);
  }
  return runs;
}

}  // namespace papr::model
