#include "mmu/hash_page_table.h"

#include <bit>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "mmu/spin_wait.h"

namespace papr::mmu {
namespace {

// Largest order whose table is asked for in huge pages. A guest that fills a table of 4 GB has 512
// GB of RAM; larger tables are more likely sparse, and each entry of a sparse one would cost 2 MB.
constexpr int kMaxHugePageOrder = 32;

}  // namespace

#if defined(__x86_64__)
const bool internal::kPairLoadIsAtomic = __builtin_cpu_supports("avx") != 0;
#endif

absl::StatusOr<std::unique_ptr<HashPageTable>> HashPageTable::Create(
    int order, uint64_t empty_v, std::shared_ptr<MemoryBudget> budget) {
  if (order < kMinHptOrder || order > kMaxHptOrder) {
    return absl::InvalidArgumentError(
        absl::StrFormat("order %d is outside %d..%d", order, kMinHptOrder, kMaxHptOrder));
  }
  const uint64_t bytes = uint64_t{1} << order;
  if (budget != nullptr && !budget->Charge(bytes)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "a table of order %d does not fit: %d of %d bytes of hashed page tables are in use", order,
        budget->used(), budget->limit()));
  }
  // From here on the destructor gives everything back.
  auto table = std::unique_ptr<HashPageTable>(new HashPageTable(order, empty_v, std::move(budget)));
  table->entry_memory_ =
      HostMemory(bytes, order <= kMaxHugePageOrder ? HostMemory::HugePages::kIfPossible
                                                   : HostMemory::HugePages::kNo);
  table->touched_memory_ = HostMemory(table->TouchedBytes(), HostMemory::HugePages::kNo);
  table->entries_ = static_cast<AtomicHpte*>(table->entry_memory_.data());
  table->touched_ = static_cast<std::atomic<uint64_t>*>(table->touched_memory_.data());
  if (table->entries_ == nullptr || table->touched_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the host has no address space for a table of order %d", order));
  }
  return table;
}

HashPageTable::HashPageTable(int order, uint64_t empty_v, std::shared_ptr<MemoryBudget> budget)
    : order_(order), empty_v_(empty_v), budget_(std::move(budget)) {}

HashPageTable::~HashPageTable() {
  if (budget_ != nullptr) budget_->Refund(bytes());
}

// V as it was when the lock was taken.
uint64_t HashPageTable::WaitForLock(uint64_t ptex) {
  std::atomic<uint64_t>& v = entries_[ptex].v;
  SpinWait wait;
  for (;;) {
    while ((v.load(std::memory_order_relaxed) & kLock) != 0) wait.Step();
    const uint64_t old = v.fetch_or(kLock, std::memory_order_acquire);
    if ((old & kLock) == 0) return old;
  }
}

std::optional<HashPageTable::LockedEntry> HashPageTable::TryLockIfValid(uint64_t ptex) {
  std::atomic<uint64_t>& v = entries_[ptex].v;
  uint64_t old = v.load(std::memory_order_relaxed);
  if ((old & (kVValid | kLock)) != kVValid) return std::nullopt;
  StepYieldPoint();
  if (kEntryLockBroken) return Locked(ptex, old);
  if (!v.compare_exchange_strong(old, old | kLock, std::memory_order_acquire,
                                 std::memory_order_relaxed)) {
    return std::nullopt;
  }
  return Locked(ptex, old);
}

Hpte HashPageTable::ReadSlowly(uint64_t ptex) const {
  if (!internal::kPairLoadIsAtomic) {
    return const_cast<HashPageTable*>(this)->Lock(ptex).hpte();  // changes nothing but the lock
  }
  SpinWait wait;
  for (;;) {
    wait.Step();
    const Hpte stored = internal::LoadPair(&entries_[ptex]);
    if ((stored.v & kLock) == 0) return {ToStored(stored.v), stored.r};
  }
}

// LockFirstFree() where no slot was free at a glance. Slots looked at one after another prove
// nothing, since one may have become free behind the look while the last free one was taken: all
// eight locks are held at once. A thread that holds locks waits for none, so it starts again where
// a slot is held.
std::optional<HashPageTable::LockedEntry> HashPageTable::LockFreeOfAll(uint64_t pteg) {
  const uint64_t first = pteg << kPtegShift;
  for (;;) {
    int slot = 0;
    {
      std::array<std::optional<LockedEntry>, kHptesPerPteg> held;
      for (; slot < kHptesPerPteg; ++slot) {
        auto entry = TryLockIfValid(first + slot);
        if (!entry.has_value()) break;
        held[slot].emplace(std::move(*entry));
      }
    }
    if (slot == kHptesPerPteg) return std::nullopt;
    if (auto entry = LockIfFree(first + slot)) return entry;
  }
}

std::optional<HashPageTable::LockedEntry> HashPageTable::LockIfFree(uint64_t ptex) {
  const uint64_t seen = entries_[ptex].v.load(std::memory_order_relaxed);
  if ((seen & (kVValid | kLock)) == kVValid) return std::nullopt;
  LockedEntry entry = Lock(ptex);
  if (entry.valid()) return std::nullopt;
  MarkTouched(ptex);
  return entry;
}

std::optional<uint64_t> HashPageTable::InsertFirstFree(uint64_t pteg, const Hpte& hpte) {
  auto entry = LockFirstFree(pteg);
  if (!entry.has_value()) return std::nullopt;
  entry->Store(hpte);
  return entry->ptex();
}

bool HashPageTable::InsertAt(uint64_t ptex, const Hpte& hpte) {
  auto entry = LockIfFree(ptex);
  if (!entry.has_value()) return false;
  entry->Store(hpte);
  return true;
}

void HashPageTable::Clear() {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnClear();
  }
  entry_memory_.Zero();
  touched_memory_.Zero();
}

void HashPageTable::SetObserver(ObserverKind kind, EntryObserver* observer) {
  observers_[static_cast<size_t>(kind)] = observer;
  observed_ = observers_ != decltype(observers_){};
  exported_ = observers_[static_cast<size_t>(ObserverKind::kExport)] != nullptr;
}

void HashPageTable::WillStore(uint64_t ptex) const {
  for (const EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->WillStore(ptex);
  }
}

void HashPageTable::WillStore(uint64_t ptex, const Hpte& hpte) const {
  for (const EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->WillStore(ptex, hpte);
  }
}

void HashPageTable::TellStore(uint64_t ptex, Hpte old, Hpte now) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnStore(ptex, old, now);
  }
}

void HashPageTable::TellSetReferenceChange(uint64_t ptex, Hpte old, uint64_t bits) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnSetReferenceChange(ptex, old, bits);
  }
}

void HashPageTable::TellClearReferenceChange(uint64_t ptex, Hpte old, uint64_t bits) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnClearReferenceChange(ptex, old, bits);
  }
}

uint64_t HashPageTable::run_count() const {
  return (entry_count() + (uint64_t{1} << kRunShift) - 1) >> kRunShift;
}

uint64_t HashPageTable::TouchedBytes() const { return (run_count() + 63) / 64 * 8; }

void HashPageTable::ForEachTouchedRun(
    absl::FunctionRef<void(uint64_t first, uint64_t count)> visit) const {
  const uint64_t words = (run_count() + 63) / 64;
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t bits = touched_[i].load(std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) {
      const uint64_t run = i * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      visit(run << kRunShift, uint64_t{1} << kRunShift);
    }
  }
}

uint64_t HashPageTable::NextTouched(uint64_t first, uint64_t end) const {
  while (first < end) {
    const uint64_t run = first >> kRunShift;
    const uint64_t word = touched_[run / 64].load(std::memory_order_relaxed) >> (run % 64);
    if ((word & 1) != 0) return first;
    const uint64_t untouched =
        word != 0 ? static_cast<uint64_t>(std::countr_zero(word)) : 64 - run % 64;
    first = (run + untouched) << kRunShift;
  }
  return end;
}

uint64_t HashPageTable::touched_bytes() const {
  uint64_t runs = 0;
  ForEachTouchedRun([&runs](uint64_t, uint64_t) { ++runs; });
  return runs * kRunBytes;
}

}  // namespace papr::mmu
