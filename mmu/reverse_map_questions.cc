// What is asked of a reverse map; what keeps it is in reverse_map.cc.

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "mmu/reverse_map.h"

namespace papr::mmu {

void ReverseMap::ForEachHead(uint64_t first, uint64_t count,
                             absl::FunctionRef<void(uint64_t)> visit) const {
  if (count == 0) return;
  // Larger pages that begin below the first page. Their beginnings descend as the sizes ascend.
  const uint64_t address = ram_.AddressOf(first);
  uint64_t last = address;
  for (const int shift : sizes_) {
    const uint64_t begin = address >> shift << shift;
    if (begin == last) continue;
    last = begin;
    const auto head = ram_.PageAt(begin);
    if (head.has_value() && HasEntries(*head)) visit(*head);
  }
  for (uint64_t page = first; page < first + count; ++page) {
    if (HasEntries(page)) visit(page);
  }
}

void ReverseMap::ForEachEntry(
    uint64_t head,
    absl::FunctionRef<bool(HashPageTable::LockedEntry& entry, const MappedPage& page)> visit) {
  // The list as of now, so that entries are locked in the order that everybody locks: the entry,
  // then the word. Whether an entry still belongs here is looked at again under its lock.
  std::vector<uint32_t> members;
  const uint64_t word = LockWord(head);
  if ((word & kPresent) != 0) {
    uint64_t ptex = word & kPtex;
    do {
      members.push_back(static_cast<uint32_t>(ptex));
      ptex = Neighbour(links_[ptex].forward);
    } while (ptex != (word & kPtex));
  }
  UnlockWord(head, word);
  for (const uint32_t ptex : members) {
    HashPageTable::LockedEntry entry = table_->Lock(ptex);
    if (!entry.valid()) continue;
    const auto page = PageOf(entry.hpte());
    if (page.has_value() && page->head == head && !visit(entry, *page)) return;
  }
}

void ReverseMap::Harvest(uint64_t head, uint64_t bits) {
  ForEachEntry(head, [&](HashPageTable::LockedEntry& entry, const MappedPage& page) {
    HarvestEntry(page, entry.ptex(), entry.r() & bits);
    return true;
  });
}

void ReverseMap::HarvestEntry(const MappedPage& page, uint64_t ptex, uint64_t bits) {
  const uint64_t old_bits = OldBits(ptex);
  const uint64_t fresh = bits & kRc & ~old_bits;
  if (fresh == 0) return;
  const uint64_t word = LockWord(page.head);
  SetOldBits(ptex, old_bits | fresh);
  UnlockWord(page.head, word | HarvestBits(page.size, fresh));
}

void ReverseMap::ForgetHarvested(uint64_t head, size_t size, uint64_t bits) {
  const uint64_t word = LockWord(head);
  UnlockWord(head, word & ~HarvestBits(size, bits));
}

uint64_t ReverseMap::resident_bytes() const {
  return words_.resident_bytes() + links_.resident_bytes() + dirty_log_.resident_bytes();
}

absl::Status ReverseMap::CheckLists() const {
  // Each entry of the table is on its list...
  uint64_t entries = 0;
  std::string fault;
  ForEachTracked([&](uint64_t ptex, const Hpte& hpte, const MappedPage& page) {
    ++entries;
    if (!HasEntries(page.head)) fault = absl::StrFormat("ptex 0x%x: its page has no list", ptex);
    if ((OldBits(ptex) & ~hpte.r) != 0) fault = absl::StrFormat("ptex 0x%x: old but clear", ptex);
  });
  // ...and nothing else is on one: as many are on lists as there are, each on that of its page.
  uint64_t listed = 0;
  for (uint64_t head = 0; head < ram_.pages() && fault.empty(); ++head) {
    const uint64_t word = words_[head].load(std::memory_order_acquire);
    if ((word & kWordLock) != 0) fault = absl::StrFormat("page 0x%x: locked", head);
    if ((word & kPresent) == 0) continue;
    const uint64_t start = word & kPtex;
    uint64_t ptex = start;
    do {
      const Hpte hpte = table_->Read(ptex);
      const auto page = (hpte.v & kVValid) != 0 ? PageOf(hpte) : std::nullopt;
      const uint64_t next = Neighbour(links_[ptex].forward);
      if (!page.has_value() || page->head != head || Neighbour(links_[next].back) != ptex ||
          ++listed > entries) {
        fault = absl::StrFormat("ptex 0x%x: on the list of page 0x%x by mistake", ptex, head);
        break;
      }
      ptex = next;
    } while (ptex != start);
  }
  if (fault.empty() && listed != entries) {
    fault = absl::StrFormat("%d entries, but %d on lists", entries, listed);
  }
  return fault.empty() ? absl::OkStatus() : absl::InternalError(fault);
}

}  // namespace papr::mmu
