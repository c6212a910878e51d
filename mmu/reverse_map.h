// Which entries of a hashed page table map a page of guest RAM, and what they tell of its use: the
// idea of KVM-HV's reverse map, with a dirty log beside it.
//
// For each 4 KB page of RAM there is one word: a lock bit, a bit "present" and the ptex of one
// entry that maps the page, and the R and C bits that were harvested. For each entry of the table
// there are 8 bytes: its neighbours in the circular list of all entries of its page, and for each
// of R and C whether it is *old*, that is: harvested already, though the guest still sees it set.
// The entry itself always holds what the guest sees.
//
// An entry is on the list of the first 4 KB page of the real page that it maps, whatever its size.
// Entries whose page begins outside the RAM (I/O), or whose page size does not decode, are on none.
// A page may begin in RAM and run past its end; what counts is the part in RAM.
//
// Invariants:
// - An entry that is valid and not locked is on its list, and only there.
// - If C of an entry is set and not old, all pages that it maps are in the dirty log, or were taken
//   from it by a question that has not been answered yet.
// - R and C are old only where they are set.
//
// Locks: the entry's lock, then the word's. Nothing waits while it holds a word's lock. Links are
// changed under the word's lock; the "old" bits under both locks, so either suffices to read them.
//
// Threads: everything may be called from any thread at any time, but for Follow(), OnClear() and
// CheckLists(), during which no other thread may use the map or change its table.

#ifndef MMU_REVERSE_MAP_H_
#define MMU_REVERSE_MAP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mmu/dirty_log.h"
#include "mmu/entry_observer.h"
#include "mmu/guest_ram.h"
#include "mmu/hash_page_table.h"
#include "mmu/hpte.h"
#include "mmu/lazy_array.h"
#include "mmu/page_size.h"

namespace papr::mmu {

// A link holds a ptex in 31 bits: tables of up to 2^31 entries.
inline constexpr int kMaxTrackedOrder = 35;
// Actual page sizes of a page-size table: so many pairs of harvested bits has a word.
inline constexpr size_t kMaxTrackedPageSizes = 11;

// The distinct actual page sizes of a table, log2 of bytes, ascending; 4 KB is always among them.
std::vector<int> ActualPageSizes(const PageSizeTable& page_sizes);

class ReverseMap final : public EntryObserver {
 public:
  // The map of a guest with this RAM; `page_sizes` must outlive it. It follows no table yet.
  // INVALID_ARGUMENT: more than kMaxTrackedPageSizes actual page sizes. RESOURCE_EXHAUSTED: the
  // host's address space.
  static absl::StatusOr<std::unique_ptr<ReverseMap>> Create(GuestRam ram,
                                                            const PageSizeTable& page_sizes);

  // Leaves the table that it followed, as if all of its entries were removed, and follows `table`
  // from now on, which must outlive that. The entries of `table` count as moved: their R and C are
  // no new ones. RESOURCE_EXHAUSTED, and nothing changed, if the host has no address space.
  // Requires an order of at most kMaxTrackedOrder.
  absl::Status Follow(HashPageTable* table);

  const GuestRam& ram() const { return ram_; }
  DirtyLog& dirty_log() { return dirty_log_; }
  HashPageTable& table() { return *table_; }
  // log2 of bytes, ascending.
  const std::vector<int>& sizes() const { return sizes_; }

  // The real page that an entry maps.
  struct MappedPage {
    uint64_t head = 0;     // number of its first 4 KB page in ram()
    uint64_t address = 0;  // guest real
    size_t size = 0;       // its size is 2^sizes()[size] bytes

    friend bool operator==(const MappedPage&, const MappedPage&) = default;
  };
  // Nothing if the map does not follow such an entry. Requires that the entry is valid.
  std::optional<MappedPage> PageOf(const Hpte& hpte) const {
    const auto sizes = page_sizes_.Decode(hpte.v, hpte.r);
    if (!sizes.has_value()) return std::nullopt;
    const uint64_t address = hpte.r & kRRpn & ~((uint64_t{1} << sizes->actual) - 1);
    const auto head = ram_.PageAt(address);
    if (!head.has_value()) return std::nullopt;
    return MappedPage{*head, address, size_of_shift_[static_cast<size_t>(sizes->actual)]};
  }

  // True if an entry is on the list of 4 KB page `head`, or just comes or goes. Who finds none
  // after it took a mark from the log may rely on it: an entry that comes later marks its pages
  // anew.
  bool HasEntries(uint64_t head) const {
    return (words_[head].load() & (kPresent | kWordLock)) != 0;
  }
  // Calls visit(head) for each 4 KB page whose list may hold entries that map any of the pages
  // [first, first + count), each once.
  void ForEachHead(uint64_t first, uint64_t count, absl::FunctionRef<void(uint64_t)> visit) const;
  // Calls visit(entry, its page) for the entries on the list of `head`, each with its lock held.
  // Entries that come or go meanwhile may or may not be visited. `visit` returns false to stop.
  void ForEachEntry(
      uint64_t head,
      absl::FunctionRef<bool(HashPageTable::LockedEntry& entry, const MappedPage& page)> visit);

  // Harvests those of `bits` (kRReferenced, kRChanged) that are set and not old in the entries on
  // the list of `head` into its word, and makes them old.
  void Harvest(uint64_t head, uint64_t bits);
  // What was harvested from pages of size `size` that begin at `head`.
  uint64_t Harvested(uint64_t head, size_t size) const {
    return (words_[head].load(std::memory_order_acquire) >> HarvestShift(size) & kBothBits)
           << kRcShift;
  }
  // Forgets those of `bits` in Harvested().
  void ForgetHarvested(uint64_t head, size_t size, uint64_t bits);

  // Bytes of host memory that words, links and log take at this moment. Cost: their size.
  uint64_t resident_bytes() const;

  // INTERNAL, and what is wrong, unless the lists hold exactly the entries of the table that they
  // should, and their links belong together.
  absl::Status CheckLists() const;

  // EntryObserver.
  void OnStore(uint64_t ptex, const Hpte& old, const Hpte& now) override;
  void OnSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) override;
  void OnClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) override;
  // The lists become empty; what the entries told of R and C is harvested, and the log stays: a
  // table that is cleared changes no memory.
  void OnClear() override;
  void WillStore(uint64_t ptex) const override { __builtin_prefetch(&links_[ptex], 1); }
  void WillStore(uint64_t ptex, const Hpte& hpte) const override;

 private:
  // Neighbours in the list, with a bit on top: R is old (forward), C is old (back).
  struct Link {
    std::atomic<uint32_t> forward;
    std::atomic<uint32_t> back;
  };
  static_assert(sizeof(Link) == 8 && std::atomic<uint32_t>::is_always_lock_free);
  static constexpr uint32_t kOld = 0x80000000;

  // A word: ptex (31 bits), present, R and C by page size, lock.
  using Word = std::atomic<uint64_t>;
  static constexpr uint64_t kPtex = 0xffffffff;
  static constexpr uint64_t kPresent = uint64_t{1} << 32;
  static constexpr uint64_t kWordLock = uint64_t{1} << 43;
  // R and C as in R of an entry, shifted down to two bits.
  static constexpr int kRcShift = 7;
  static constexpr uint64_t kBothBits = 3;
  static constexpr uint64_t kRc = kRReferenced | kRChanged;
  static_assert(kRc == kBothBits << kRcShift);
  // Of 4 KB pages where KVM-HV has them, in bits 39 and 40; of the larger sizes from bit 44 on.
  static int HarvestShift(size_t size) { return size == 0 ? 39 : 42 + 2 * static_cast<int>(size); }
  static uint64_t HarvestBits(size_t size, uint64_t bits) {
    return (bits & kRc) >> kRcShift << HarvestShift(size);
  }

  ReverseMap(GuestRam ram, const PageSizeTable& page_sizes, std::vector<int> sizes);

  // The word of `head` with its lock bit clear; the lock is held until UnlockWord().
  uint64_t LockWord(uint64_t head);
  void UnlockWord(uint64_t head, uint64_t word) {
    words_[head].store(word, std::memory_order_release);
  }

  static void SetNeighbour(std::atomic<uint32_t>& link, uint64_t ptex) {
    const uint32_t old = link.load(std::memory_order_relaxed);
    link.store((old & kOld) | static_cast<uint32_t>(ptex), std::memory_order_relaxed);
  }
  static uint64_t Neighbour(const std::atomic<uint32_t>& link) {
    return link.load(std::memory_order_relaxed) & ~kOld;
  }
  // Which of R and C are old. Requires the entry's lock or its word's.
  uint64_t OldBits(uint64_t ptex) const;
  // Requires both.
  void SetOldBits(uint64_t ptex, uint64_t bits);

  // These require the entry's lock.
  void LinkEntry(const MappedPage& page, uint64_t ptex, uint64_t old_bits);
  // `r` is the entry's second doubleword: what of it is not old is harvested.
  void UnlinkEntry(const MappedPage& page, uint64_t ptex, uint64_t r);
  void HarvestEntry(const MappedPage& page, uint64_t ptex, uint64_t bits);
  void MarkDirty(const MappedPage& page);

  // Calls visit(ptex, entry, its page) for each entry of the table that belongs on a list.
  void ForEachTracked(
      absl::FunctionRef<void(uint64_t, const Hpte&, const MappedPage&)> visit) const;
  void UnlinkAll();

  const GuestRam ram_;
  const PageSizeTable& page_sizes_;
  const std::vector<int> sizes_;
  std::array<uint8_t, 64> size_of_shift_{};  // log2 of bytes -> index in sizes_
  LazyArray<Word> words_;                    // by 4 KB page
  LazyArray<Link> links_;                    // by ptex
  DirtyLog dirty_log_;
  HashPageTable* table_ = nullptr;
};

}  // namespace papr::mmu

#endif  // MMU_REVERSE_MAP_H_
