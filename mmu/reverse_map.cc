#include "mmu/reverse_map.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "mmu/spin_wait.h"

namespace papr::mmu {

std::vector<int> ActualPageSizes(const PageSizeTable& page_sizes) {
  std::vector<int> sizes = {k4K};
  for (const SegmentPageSize& segment : page_sizes.segments()) {
    for (const auto& encoding : segment.encodings) sizes.push_back(encoding.actual);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

absl::StatusOr<std::unique_ptr<ReverseMap>> ReverseMap::Create(GuestRam ram,
                                                               const PageSizeTable& page_sizes) {
  std::vector<int> sizes = ActualPageSizes(page_sizes);
  if (sizes.size() > kMaxTrackedPageSizes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d actual page sizes; at most %d", sizes.size(), kMaxTrackedPageSizes));
  }
  auto map =
      std::unique_ptr<ReverseMap>(new ReverseMap(std::move(ram), page_sizes, std::move(sizes)));
  if (!map->words_.ok() || !map->dirty_log_.ok()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the host has no address space to track %d guest pages", map->ram_.pages()));
  }
  return map;
}

ReverseMap::ReverseMap(GuestRam ram, const PageSizeTable& page_sizes, std::vector<int> sizes)
    : ram_(std::move(ram)),
      page_sizes_(page_sizes),
      sizes_(std::move(sizes)),
      words_(ram_.pages(), HostMemory::HugePages::kIfPossible),
      dirty_log_(ram_.pages()) {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    size_of_shift_[static_cast<size_t>(sizes_[i])] = static_cast<uint8_t>(i);
  }
}

absl::Status ReverseMap::Follow(HashPageTable* table) {
  LazyArray<Link> links(table->entry_count(), HostMemory::HugePages::kIfPossible);
  if (!links.ok()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the host has no address space to track a table of order %d", table->order()));
  }
  if (table_ != nullptr) {
    UnlinkAll();
    table_->SetObserver(HashPageTable::ObserverKind::kReverseMap, nullptr);
  }
  links_ = std::move(links);
  table_ = table;
  ForEachTracked([this](uint64_t ptex, const Hpte& hpte, const MappedPage& page) {
    LinkEntry(page, ptex, hpte.r & kRc);
  });
  table_->SetObserver(HashPageTable::ObserverKind::kReverseMap, this);
  return absl::OkStatus();
}

void ReverseMap::ForEachTracked(
    absl::FunctionRef<void(uint64_t, const Hpte&, const MappedPage&)> visit) const {
  table_->ForEachTouchedRun([&](uint64_t first, uint64_t count) {
    for (uint64_t ptex = first; ptex < first + count; ++ptex) {
      if ((table_->PeekV(ptex) & kVValid) == 0) continue;
      const Hpte hpte = table_->Read(ptex);
      if (const auto page = PageOf(hpte)) visit(ptex, hpte, *page);
    }
  });
}

void ReverseMap::UnlinkAll() {
  ForEachTracked([this](uint64_t ptex, const Hpte& hpte, const MappedPage& page) {
    UnlinkEntry(page, ptex, hpte.r);
  });
}

void ReverseMap::OnClear() {
  UnlinkAll();
  links_.Clear();
}

void ReverseMap::OnStore(uint64_t ptex, const Hpte& old, const Hpte& now) {
  const bool was_valid = (old.v & kVValid) != 0;
  const bool is_valid = (now.v & kVValid) != 0;
  if (was_valid && is_valid && ((old.r ^ now.r) & (kRRpn | kRc)) == 0 &&
      ((old.v ^ now.v) & kVLarge) == 0) {
    return;  // H_PROTECT
  }
  const auto before = was_valid ? PageOf(old) : std::nullopt;
  const auto after = is_valid ? PageOf(now) : std::nullopt;
  if (before.has_value() && before == after) {
    OnClearReferenceChange(ptex, old, old.r & ~now.r & kRc);
    OnSetReferenceChange(ptex, old, now.r & ~old.r & kRc);
    return;
  }
  if (before.has_value()) UnlinkEntry(*before, ptex, old.r);
  if (after.has_value()) {
    // On the list first: a question that takes the mark then finds the entry there, or has taken it
    // before this one is made.
    LinkEntry(*after, ptex, 0);
    if ((now.r & kRChanged) != 0) MarkDirty(*after);
  }
}

void ReverseMap::WillStore(uint64_t ptex, const Hpte& hpte) const {
  const Link& link = links_[ptex];
  __builtin_prefetch(&link, 1);
  if (const auto page = PageOf(hpte)) __builtin_prefetch(&words_[page->head], 1);
}

void ReverseMap::OnSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) {
  const uint64_t again = bits & old.r & OldBits(ptex);
  const uint64_t fresh = bits & ~old.r & kRChanged;
  if ((again | fresh) == 0) return;
  const auto page = PageOf(old);
  if (!page.has_value()) return;
  if (again != 0) {
    const uint64_t word = LockWord(page->head);
    SetOldBits(ptex, OldBits(ptex) & ~again);
    UnlockWord(page->head, word);
  }
  if (((again | fresh) & kRChanged) != 0) MarkDirty(*page);
}

void ReverseMap::OnClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) {
  if (bits == 0) return;
  const auto page = PageOf(old);
  if (!page.has_value()) return;
  const uint64_t word = LockWord(page->head);
  const uint64_t old_bits = OldBits(ptex);
  SetOldBits(ptex, old_bits & ~bits);
  UnlockWord(page->head, word | HarvestBits(page->size, bits & ~old_bits));
}

uint64_t ReverseMap::LockWord(uint64_t head) {
  Word& word = words_[head];
  SpinWait wait;
  for (;;) {
    const uint64_t old = word.fetch_or(kWordLock);  // in one order with marks: see HasEntries()
    if ((old & kWordLock) == 0) return old;
    while ((word.load(std::memory_order_relaxed) & kWordLock) != 0) wait.Step();
  }
}

uint64_t ReverseMap::OldBits(uint64_t ptex) const {
  const Link& link = links_[ptex];
  return ((link.forward.load(std::memory_order_relaxed) & kOld) != 0 ? kRReferenced : 0) |
         ((link.back.load(std::memory_order_relaxed) & kOld) != 0 ? kRChanged : 0);
}

void ReverseMap::SetOldBits(uint64_t ptex, uint64_t bits) {
  Link& link = links_[ptex];
  const auto forward = static_cast<uint32_t>(Neighbour(link.forward));
  const auto back = static_cast<uint32_t>(Neighbour(link.back));
  link.forward.store(forward | ((bits & kRReferenced) != 0 ? kOld : 0), std::memory_order_relaxed);
  link.back.store(back | ((bits & kRChanged) != 0 ? kOld : 0), std::memory_order_relaxed);
}

void ReverseMap::LinkEntry(const MappedPage& page, uint64_t ptex, uint64_t old_bits) {
  Link& link = links_[ptex];
  uint64_t word = LockWord(page.head);
  uint64_t next = ptex;
  uint64_t previous = ptex;
  if ((word & kPresent) != 0) {
    next = word & kPtex;
    previous = Neighbour(links_[next].back);
    SetNeighbour(links_[previous].forward, ptex);
    SetNeighbour(links_[next].back, ptex);
  } else {
    word = (word & ~kPtex) | kPresent | ptex;
  }
  link.forward.store(static_cast<uint32_t>(next), std::memory_order_relaxed);
  link.back.store(static_cast<uint32_t>(previous), std::memory_order_relaxed);
  if (old_bits != 0) SetOldBits(ptex, old_bits);
  UnlockWord(page.head, word);
}

void ReverseMap::UnlinkEntry(const MappedPage& page, uint64_t ptex, uint64_t r) {
  Link& link = links_[ptex];
  uint64_t word = LockWord(page.head);
  const uint64_t next = Neighbour(link.forward);
  const uint64_t previous = Neighbour(link.back);
  word |= HarvestBits(page.size, r & ~OldBits(ptex));
  if (next == ptex) {
    word &= ~(kPtex | kPresent);
  } else {
    SetNeighbour(links_[previous].forward, next);
    SetNeighbour(links_[next].back, previous);
    if ((word & kPtex) == ptex) word = (word & ~kPtex) | next;
  }
  UnlockWord(page.head, word);
}

void ReverseMap::MarkDirty(const MappedPage& page) {
  if (page.size == 0) {
    dirty_log_.Mark(page.head, 1);
    return;
  }
  ram_.ForEachPart(page.address, uint64_t{1} << sizes_[page.size],
                   [this](uint64_t first, uint64_t count) { dirty_log_.Mark(first, count); });
}

}  // namespace papr::mmu
