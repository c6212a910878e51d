// A hashed page table: 2^order bytes of PTEGs in host memory, an entry lock in each HPTE, and the
// operations that find, insert and change entries.
//
// Memory is reserved at creation and taken page by page as entries are stored, in huge pages of 2
// MB for orders 21 to 32 where the kernel gives them: an order-36 table costs what it touches.
// Entries are kept in host byte order.
//
// Threads: any number may use one table at once. An entry is changed only under its own lock, bit
// 0x20 of V (as real hypervisors do it); that bit never shows in what these functions return.
// Clear() must not overlap with a change of an entry, destruction with any use.
//
// Invariant: R is written before V makes an entry valid, and V made invalid before R is dropped, so
// that a walker without the lock never pairs a valid V with the R of another entry.

#ifndef MMU_HASH_PAGE_TABLE_H_
#define MMU_HASH_PAGE_TABLE_H_

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "mmu/entry_observer.h"
#include "mmu/host_memory.h"
#include "mmu/hpte.h"
#include "mmu/memory_budget.h"
#include "mmu/pteg_scan.h"
#include "mmu/yield_point.h"

namespace papr::mmu {

namespace internal {
// Both words of an entry in one aligned 16-byte load. Processors with AVX make that load atomic
// (Intel and AMD both document it); elsewhere the entry lock is taken.
#if defined(__x86_64__)
extern const bool kPairLoadIsAtomic;

inline Hpte LoadPair(const AtomicHpte* entry) {
  __m128i pair;
  asm volatile("movdqa %1, %0" : "=x"(pair) : "m"(*reinterpret_cast<const __m128i*>(entry)));
  return {static_cast<uint64_t>(_mm_cvtsi128_si64(pair)),
          static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(pair, pair)))};
}
#else
inline constexpr bool kPairLoadIsAtomic = false;

inline Hpte LoadPair(const AtomicHpte*) { return {}; }
#endif
}  // namespace internal

// log2 of a table's bytes: 256 KB to 64 TB (LoPAR "ibm,pft-size"; Power ISA SDR1.HTABSIZE).
inline constexpr int kMinHptOrder = 18;
inline constexpr int kMaxHptOrder = 46;

class HashPageTable {
 public:
  // A table of 2^order bytes (kMinHptOrder..kMaxHptOrder) whose every entry is {empty_v, 0};
  // `empty_v` is 0 or kVSoftwareDirty (a QEMU table at reset). The bytes are charged to `budget`
  // (may be null) until destruction.
  // INVALID_ARGUMENT: order. RESOURCE_EXHAUSTED: the budget or the host's address space.
  static absl::StatusOr<std::unique_ptr<HashPageTable>> Create(
      int order, uint64_t empty_v = 0, std::shared_ptr<MemoryBudget> budget = nullptr);

  HashPageTable(const HashPageTable&) = delete;
  HashPageTable& operator=(const HashPageTable&) = delete;
  ~HashPageTable();

  int order() const { return order_; }
  uint64_t bytes() const { return uint64_t{1} << order_; }
  uint64_t entry_count() const { return uint64_t{1} << (order_ - 4); }
  uint64_t pteg_count() const { return uint64_t{1} << (order_ - 7); }
  uint64_t hash_mask() const { return pteg_count() - 1; }
  bool Contains(uint64_t ptex) const { return ptex < entry_count(); }

  // Whether anything follows the changes; if so, these let it fetch what it will need for a change
  // of an entry in the PTEG of `ptex`, and for one that holds `hpte` now or soon. No effect but on
  // time.
  bool observed() const { return observed_; }
  void WillStore(uint64_t ptex) const;
  void WillStore(uint64_t ptex, const Hpte& hpte) const;

  // An entry with its lock held. `v()` and `r()` are the words as of now; the functions that change
  // them tell the observers, and the destructor unlocks. Holding one, a thread must not wait for
  // others.
  class LockedEntry {
   public:
    LockedEntry(LockedEntry&& other) noexcept
        : table_(other.table_), ptex_(other.ptex_), v_(other.v_), r_(other.r_) {
      other.table_ = nullptr;
    }
    LockedEntry& operator=(LockedEntry&&) = delete;
    ~LockedEntry() {
      if (table_ != nullptr) table_->Unlock(ptex_, v_);
    }

    uint64_t ptex() const { return ptex_; }
    uint64_t v() const { return v_; }
    uint64_t r() const { return r_; }
    Hpte hpte() const { return {v_, r_}; }
    bool valid() const { return (v_ & kVValid) != 0; }

    // Replaces both words.
    void Store(Hpte hpte) {
      if (table_->observed_) [[unlikely]]
        table_->TellStore(ptex_, {v_, r_}, hpte);
      v_ = hpte.v;
      SetR(hpte.r);
    }
    // Store() of words that differ in protection, key and software bits only: no matter for a
    // reverse map.
    void StoreProtection(Hpte hpte) {
      if (table_->exported_) [[unlikely]]
        table_->TellStore(ptex_, {v_, r_}, hpte);
      v_ = hpte.v;
      SetR(hpte.r);
    }
    // Sets `bits` (kRReferenced, kRChanged) as a table walk does. Requires valid().
    void SetReferenceChange(uint64_t bits) {
      if (table_->observed_) [[unlikely]]
        table_->TellSetReferenceChange(ptex_, {v_, r_}, bits);
      SetR(r_ | bits);
    }
    // Clears `bits`, all of which are set. Requires valid().
    void ClearReferenceChange(uint64_t bits) {
      if (table_->observed_) [[unlikely]]
        table_->TellClearReferenceChange(ptex_, {v_, r_}, bits);
      SetR(r_ & ~bits);
    }

   private:
    friend class HashPageTable;
    LockedEntry(HashPageTable* table, uint64_t ptex, uint64_t v, uint64_t r)
        : table_(table), ptex_(ptex), v_(v), r_(r) {}

    void SetR(uint64_t r) {
      r_ = r;
      table_->entries_[ptex_].r.store(r, std::memory_order_relaxed);
    }

    HashPageTable* table_;
    uint64_t ptex_;
    // Apart, and passed by value: a pair that is stored by halves and loaded whole stalls.
    uint64_t v_;
    uint64_t r_;
  };

  // Requires Contains(ptex), or a PTEG of the table, for every function below.

  // Start to fetch the entry, or both cache lines of a PTEG, to change it soon. No effect but on
  // time.
  void Prefetch(uint64_t ptex) const { __builtin_prefetch(&entries_[ptex], 1); }
  void PrefetchPteg(uint64_t pteg) const {
    const AtomicHpte* first = &entries_[pteg << kPtegShift];
    __builtin_prefetch(first, 1);
    __builtin_prefetch(first + kHptesPerPteg / 2, 1);
  }

  // Locks an entry, waiting for a holder.
  LockedEntry Lock(uint64_t ptex) {
    StepYieldPoint();
    std::atomic<uint64_t>& v = entries_[ptex].v;
    if (kEntryLockBroken) return Locked(ptex, v.load(std::memory_order_acquire) & ~kLock);
    const uint64_t old = v.fetch_or(kLock, std::memory_order_acquire);
    return Locked(ptex, (old & kLock) == 0 ? old : WaitForLock(ptex));
  }

  // Locks `ptex` if it is valid and its lock is free at this moment; waits for nobody. PeekV()
  // tells afterwards which of the two it was.
  std::optional<LockedEntry> TryLockIfValid(uint64_t ptex);
  // V as of this moment, without the lock: a hint, to be tested again under the lock.
  uint64_t PeekV(uint64_t ptex) const {
    return ToStored(entries_[ptex].v.load(std::memory_order_acquire)) & ~kLock;
  }
  // Both words as of one moment.
  Hpte Read(uint64_t ptex) const {
    // Two loads could pair the V of one entry with the R of another that came between two equal Vs.
    // A locked entry is in the middle of a change; an unlocked one loaded as a whole is consistent.
    if (internal::kPairLoadIsAtomic) {
      const Hpte stored = internal::LoadPair(&entries_[ptex]);
      if ((stored.v & kLock) == 0) return {ToStored(stored.v), stored.r};
    }
    return ReadSlowly(ptex);
  }

  // Locks the lowest slot of `pteg` that is not valid, or nothing if all eight are valid. A slot
  // that is only locked for the moment is waited for before giving up: nothing means that there was
  // a moment at which all eight were valid.
  std::optional<LockedEntry> LockFirstFree(uint64_t pteg) {
    // Only slots that are free at a glance; one that another thread holds may be about to become
    // free.
    const uint64_t first = pteg << kPtegShift;
    uint32_t free = MatchSlots(&entries_[first], kVValid | kLock, 0);
    for (; free != 0; free &= free - 1) {
      const uint64_t ptex = first + static_cast<uint64_t>(std::countr_zero(free));
      if (const auto old = TryLockFree(ptex)) return Locked(ptex, *old);
    }
    return LockFreeOfAll(pteg);
  }
  // Locks `ptex`, or nothing if that entry is valid.
  std::optional<LockedEntry> LockIfFree(uint64_t ptex);
  // LockFirstFree() and Store(): the ptex taken.
  std::optional<uint64_t> InsertFirstFree(uint64_t pteg, const Hpte& hpte);
  // LockIfFree() and Store(): false if the entry is valid.
  bool InsertAt(uint64_t ptex, const Hpte& hpte);

  // Locks the entry of `avpn` (an AvpnWord()) by its hash: the primary PTEG is searched for a valid
  // entry with H = 0, then the secondary for one with H = 1. Nothing if neither holds it. An entry
  // that is present during the whole call is found; one inserted meanwhile may be. Hash bits above
  // the table's mask are ignored.
  std::optional<LockedEntry> LockByHash(uint64_t hash, uint64_t avpn) {
    auto entry = LockMatch(hash & hash_mask(), avpn | kVValid);
    if (entry.has_value()) [[likely]]
      return entry;
    return LockMatch(~hash & hash_mask(), avpn | kVValid | kVSecondary);
  }

  // Where LockByHash() would find the entry in its primary PTEG: a hint, without the lock.
  std::optional<uint64_t> PeekByHash(uint64_t hash, uint64_t avpn) const {
    const uint64_t first = (hash & hash_mask()) << kPtegShift;
    const uint32_t matches =
        MatchSlots(&entries_[first], kVCompare | kVSecondary | kVValid, avpn | kVValid);
    if (matches == 0) return std::nullopt;
    return first + static_cast<uint64_t>(std::countr_zero(matches));
  }

  // Sets every entry to the empty value and gives the memory back to the host. Unlocked readers may
  // go on meanwhile.
  void Clear();

  // Calls visit(ptex of the first entry, count) for each run of entries that may differ from the
  // empty value, in ascending order; everything else is known to be untouched. Entries stored
  // meanwhile may or may not be visited. Cost: the touched part of the table.
  void ForEachTouchedRun(absl::FunctionRef<void(uint64_t first, uint64_t count)> visit) const;
  // The lowest entry in first..end-1 that such a run holds; `end` if there is none. Requires
  // end <= entry_count().
  uint64_t NextTouched(uint64_t first, uint64_t end) const;

  // What may follow the changes of entries; at most one of each.
  enum class ObserverKind : uint8_t { kReverseMap, kExport };
  static constexpr int kObserverKinds = 2;
  // Makes `observer`, which must outlive its use, learn of every change from now on; null: nothing
  // does. Requires that no other function of the table runs.
  void SetObserver(ObserverKind kind, EntryObserver* observer);

  // Every entry outside the runs of ForEachTouchedRun() reads as this.
  Hpte empty_entry() const { return {empty_v_, 0}; }
  // Whether the host was asked for huge pages and agreed; it may still not have had them.
  bool huge_pages() const { return entry_memory_.huge_pages(); }
  // Bytes of the touched runs: what the table costs in memory, at a granularity of kRunBytes.
  uint64_t touched_bytes() const;

  static constexpr uint64_t kRunBytes = 64 * 1024;

 private:
  static constexpr uint64_t kLock = 0x20;
  static constexpr int kRunShift = 12;  // entries in a run: 4096

  HashPageTable(int order, uint64_t empty_v, std::shared_ptr<MemoryBudget> budget);

  uint64_t run_count() const;
  uint64_t TouchedBytes() const;  // of the bits in `touched_`
  uint64_t WaitForLock(uint64_t ptex);
  Hpte ReadSlowly(uint64_t ptex) const;

  // V as stored: `empty_v_` is XORed in, so that fresh host memory (zero) reads as the empty value.
  uint64_t ToStored(uint64_t v) const { return v ^ empty_v_; }
  void Unlock(uint64_t ptex, uint64_t v) {
    StepYieldPoint();  // between R and V
    entries_[ptex].v.store(ToStored(v), std::memory_order_release);
  }
  LockedEntry Locked(uint64_t ptex, uint64_t stored_v) {
    return {this, ptex, ToStored(stored_v), entries_[ptex].r.load(std::memory_order_relaxed)};
  }
  void MarkTouched(uint64_t ptex) {
    const uint64_t run = ptex >> kRunShift;
    std::atomic<uint64_t>& word = touched_[run / 64];
    const uint64_t bit = uint64_t{1} << (run % 64);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) {
      word.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  void TellStore(uint64_t ptex, Hpte old, Hpte now);
  void TellSetReferenceChange(uint64_t ptex, Hpte old, uint64_t bits);
  void TellClearReferenceChange(uint64_t ptex, Hpte old, uint64_t bits);
  std::optional<LockedEntry> LockFreeOfAll(uint64_t pteg);
  // Stored V of `ptex` as it was when its lock was taken; nothing if it is valid or locked.
  std::optional<uint64_t> TryLockFree(uint64_t ptex) {
    std::atomic<uint64_t>& v = entries_[ptex].v;
    uint64_t old = v.load(std::memory_order_relaxed);
    if ((old & (kVValid | kLock)) != 0) return std::nullopt;
    StepYieldPoint();
    if (!kEntryLockBroken && !v.compare_exchange_strong(old, old | kLock, std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {
      return std::nullopt;
    }
    MarkTouched(ptex);
    return old;
  }
  // The lowest entry of `pteg` whose B, AVPN, H and valid bits are `want`, locked; or nothing.
  std::optional<LockedEntry> LockMatch(uint64_t pteg, uint64_t want) {
    constexpr uint64_t kCompared = kVCompare | kVSecondary | kVValid;
    const uint64_t first = pteg << kPtegShift;
    while (const uint32_t matches = MatchSlots(&entries_[first], kCompared, want)) {
      LockedEntry entry = Lock(first + static_cast<uint64_t>(std::countr_zero(matches)));
      if ((entry.v() & kCompared) == want) [[likely]]
        return entry;
      // It was another one by the time that its lock was held, which proves nothing.
    }
    return std::nullopt;
  }

  const int order_;
  const uint64_t empty_v_;
  bool observed_ = false;  // by any of `observers_`
  bool exported_ = false;  // by that of kExport
  HostMemory entry_memory_;
  HostMemory touched_memory_;
  AtomicHpte* entries_ = nullptr;             // in `entry_memory_`
  std::atomic<uint64_t>* touched_ = nullptr;  // in `touched_memory_`: one bit a run
  std::shared_ptr<MemoryBudget> budget_;
  std::array<EntryObserver*, kObserverKinds> observers_{};
};

}  // namespace papr::mmu

#endif  // MMU_HASH_PAGE_TABLE_H_
