// A hashed page table: 2^order bytes of PTEGs in host memory, an entry lock in each HPTE, and the
// operations that find, insert and change entries.
//
// Memory is reserved at creation and taken page by page as entries are stored: an order-36 table
// costs what it touches. Entries are kept in host byte order.
//
// Threads: any number may use one table at once. An entry is changed only under its own lock, bit
// 0x20 of V (as real hypervisors do it); that bit never shows in what these functions return.
// Clear() must not overlap with a change of an entry, destruction with any use.
//
// Invariant: R is written before V makes an entry valid, and V made invalid before R is dropped, so
// that a walker without the lock never pairs a valid V with the R of another entry.

#ifndef MMU_HASH_PAGE_TABLE_H_
#define MMU_HASH_PAGE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "mmu/entry_observer.h"
#include "mmu/hpte.h"
#include "mmu/memory_budget.h"
#include "mmu/yield_point.h"

namespace papr::mmu {

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

  // An entry with its lock held. `v()` and `r()` are the words as of now; the functions that change
  // them tell the observers, and the destructor unlocks. Holding one, a thread must not wait for
  // others.
  class LockedEntry {
   public:
    LockedEntry(LockedEntry&& other) noexcept
        : table_(other.table_), ptex_(other.ptex_), hpte_(other.hpte_) {
      other.table_ = nullptr;
    }
    LockedEntry& operator=(LockedEntry&&) = delete;
    ~LockedEntry() {
      if (table_ != nullptr) table_->Unlock(ptex_, hpte_.v);
    }

    uint64_t ptex() const { return ptex_; }
    uint64_t v() const { return hpte_.v; }
    uint64_t r() const { return hpte_.r; }
    const Hpte& hpte() const { return hpte_; }
    bool valid() const { return (hpte_.v & kVValid) != 0; }

    // Replaces both words.
    void Store(const Hpte& hpte) {
      if (table_->observed_) table_->TellStore(ptex_, hpte_, hpte);
      Set(hpte);
    }
    // Sets `bits` (kRReferenced, kRChanged) as a table walk does. Requires valid().
    void SetReferenceChange(uint64_t bits) {
      if (table_->observed_) table_->TellSetReferenceChange(ptex_, hpte_, bits);
      Set({hpte_.v, hpte_.r | bits});
    }
    // Clears `bits`, all of which are set. Requires valid().
    void ClearReferenceChange(uint64_t bits) {
      if (table_->observed_) table_->TellClearReferenceChange(ptex_, hpte_, bits);
      Set({hpte_.v, hpte_.r & ~bits});
    }

   private:
    friend class HashPageTable;
    LockedEntry(HashPageTable* table, uint64_t ptex, const Hpte& hpte)
        : table_(table), ptex_(ptex), hpte_(hpte) {}

    void Set(const Hpte& hpte) {
      hpte_ = hpte;
      table_->StoreR(ptex_, hpte.r);
    }

    HashPageTable* table_;
    uint64_t ptex_;
    Hpte hpte_;
  };

  // Requires Contains(ptex) for every function below.

  // Locks an entry, waiting for a holder.
  LockedEntry Lock(uint64_t ptex);

  // Locks `ptex` if it is valid and its lock is free at this moment; waits for nobody. PeekV()
  // tells afterwards which of the two it was.
  std::optional<LockedEntry> TryLockIfValid(uint64_t ptex);
  // V as of this moment, without the lock: a hint, to be tested again under the lock.
  uint64_t PeekV(uint64_t ptex) const {
    return ToStored(entries_[ptex].v.load(std::memory_order_acquire)) & ~kLock;
  }
  // Both words as of one moment.
  Hpte Read(uint64_t ptex) const;

  // Locks the lowest slot of `pteg` that is not valid, or nothing if all eight are valid. A slot
  // that is only locked for the moment is waited for before giving up.
  std::optional<LockedEntry> LockFirstFree(uint64_t pteg);
  // Locks `ptex`, or nothing if that entry is valid.
  std::optional<LockedEntry> LockIfFree(uint64_t ptex);
  // LockFirstFree() and Store(): the ptex taken.
  std::optional<uint64_t> InsertFirstFree(uint64_t pteg, const Hpte& hpte);
  // LockIfFree() and Store(): false if the entry is valid.
  bool InsertAt(uint64_t ptex, const Hpte& hpte);

  // Locks the entry of `avpn` (an AvpnWord()) by its hash: the primary PTEG is searched for a valid
  // entry with H = 0, then the secondary for one with H = 1. Nothing if neither holds it. An entry
  // that is present during the whole call is found. Hash bits above the table's mask are ignored.
  std::optional<LockedEntry> LockByHash(uint64_t hash, uint64_t avpn);

  // Sets every entry to the empty value and gives the memory back to the host. Unlocked readers may
  // go on meanwhile.
  void Clear();

  // Calls visit(ptex of the first entry, count) for each run of entries that may differ from the
  // empty value, in ascending order; everything else is known to be untouched. Entries stored
  // meanwhile may or may not be visited. Cost: the touched part of the table.
  void ForEachTouchedRun(absl::FunctionRef<void(uint64_t first, uint64_t count)> visit) const;

  // What may follow the changes of entries; at most one of each.
  enum class ObserverKind : uint8_t { kReverseMap, kExport };
  static constexpr int kObserverKinds = 2;
  // Makes `observer`, which must outlive its use, learn of every change from now on; null: nothing
  // does. Requires that no other function of the table runs.
  void SetObserver(ObserverKind kind, EntryObserver* observer);

  // Every entry outside the runs of ForEachTouchedRun() reads as this.
  Hpte empty_entry() const { return {empty_v_, 0}; }
  // Bytes of the touched runs: what the table costs in memory, at a granularity of kRunBytes.
  uint64_t touched_bytes() const;

  static constexpr uint64_t kRunBytes = 64 * 1024;

 private:
  struct Entry {
    std::atomic<uint64_t> v;
    std::atomic<uint64_t> r;
  };
  static_assert(sizeof(Entry) == sizeof(Hpte) && std::atomic<uint64_t>::is_always_lock_free);

  static constexpr uint64_t kLock = 0x20;
  static constexpr int kRunShift = 12;  // entries in a run: 4096

  HashPageTable(int order, uint64_t empty_v, std::shared_ptr<MemoryBudget> budget);

  uint64_t run_count() const;
  uint64_t TouchedBytes() const;  // of the bits in `touched_`

  // V as stored: `empty_v_` is XORed in, so that fresh host memory (zero) reads as the empty value.
  uint64_t ToStored(uint64_t v) const { return v ^ empty_v_; }
  void StoreR(uint64_t ptex, uint64_t r) { entries_[ptex].r.store(r, std::memory_order_relaxed); }
  void Unlock(uint64_t ptex, uint64_t v) {
    StepYieldPoint();  // between R and V
    entries_[ptex].v.store(ToStored(v), std::memory_order_release);
  }
  LockedEntry Locked(uint64_t ptex, uint64_t stored_v) {
    return {this, ptex, {ToStored(stored_v), entries_[ptex].r.load(std::memory_order_relaxed)}};
  }
  void MarkTouched(uint64_t ptex);
  void TellStore(uint64_t ptex, const Hpte& old, const Hpte& now);
  void TellSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits);
  void TellClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits);
  std::optional<LockedEntry> LockInPteg(uint64_t pteg, uint64_t want, bool* changed);

  const int order_;
  const uint64_t empty_v_;
  bool observed_ = false;  // any of `observers_`
  Entry* entries_ = nullptr;
  std::atomic<uint64_t>* touched_ = nullptr;  // one bit a run
  std::shared_ptr<MemoryBudget> budget_;
  std::array<EntryObserver*, kObserverKinds> observers_{};
};

}  // namespace papr::mmu

#endif  // MMU_HASH_PAGE_TABLE_H_
