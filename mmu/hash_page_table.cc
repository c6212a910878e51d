#include "mmu/hash_page_table.h"

#include <sys/mman.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <bit>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace papr::mmu {
namespace {

void Pause() {
  SpinYieldPoint();
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Both words of an entry in one aligned 16-byte load. Processors with AVX make that load atomic
// (Intel and AMD both document it); elsewhere the entry lock is taken.
#if defined(__x86_64__)
const bool kPairLoadIsAtomic = __builtin_cpu_supports("avx") != 0;

Hpte LoadPair(const void* entry) {
  __m128i pair;
  asm volatile("movdqa %1, %0" : "=x"(pair) : "m"(*static_cast<const __m128i*>(entry)) : "memory");
  return {static_cast<uint64_t>(_mm_cvtsi128_si64(pair)),
          static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(pair, pair)))};
}
#else
constexpr bool kPairLoadIsAtomic = false;

Hpte LoadPair(const void*) { return {}; }
#endif

// Zeroed memory that costs nothing until it is written. Null if the host has no room.
void* Reserve(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

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
  table->entries_ = static_cast<Entry*>(Reserve(bytes));
  table->touched_ = static_cast<std::atomic<uint64_t>*>(Reserve(table->TouchedBytes()));
  if (table->entries_ == nullptr || table->touched_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the host has no address space for a table of order %d", order));
  }
  return table;
}

HashPageTable::HashPageTable(int order, uint64_t empty_v, std::shared_ptr<MemoryBudget> budget)
    : order_(order), empty_v_(empty_v), budget_(std::move(budget)) {}

HashPageTable::~HashPageTable() {
  if (entries_ != nullptr) munmap(entries_, bytes());
  if (touched_ != nullptr) munmap(touched_, TouchedBytes());
  if (budget_ != nullptr) budget_->Refund(bytes());
}

HashPageTable::LockedEntry HashPageTable::Lock(uint64_t ptex) {
  std::atomic<uint64_t>& v = entries_[ptex].v;
  StepYieldPoint();
  if (kEntryLockBroken) return Locked(ptex, v.load(std::memory_order_acquire) & ~kLock);
  for (;;) {
    const uint64_t old = v.fetch_or(kLock, std::memory_order_acquire);
    if ((old & kLock) == 0) return Locked(ptex, old);
    while ((v.load(std::memory_order_relaxed) & kLock) != 0) Pause();
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

Hpte HashPageTable::Read(uint64_t ptex) const {
  // Two loads could pair the V of one entry with the R of another that came between two equal Vs. A
  // locked entry is in the middle of a change; an unlocked one loaded as a whole is consistent.
  if (kPairLoadIsAtomic) {
    for (;;) {
      const Hpte stored = LoadPair(&entries_[ptex]);
      if ((stored.v & kLock) == 0) return {ToStored(stored.v), stored.r};
      Pause();
    }
  }
  return const_cast<HashPageTable*>(this)->Lock(ptex).hpte();  // changes nothing but the lock
}

std::optional<HashPageTable::LockedEntry> HashPageTable::LockFirstFree(uint64_t pteg) {
  const uint64_t first = pteg << kPtegShift;
  // First try takes only slots that are free at a glance; a slot that another thread holds may be
  // about to become free, so the second try waits for each slot's lock. The glance has no branch:
  // both cache lines of the group are fetched at once, and which slot is free is not guessed.
  uint32_t free = 0;
  for (int slot = 0; slot < kHptesPerPteg; ++slot) {
    const uint64_t v = entries_[first + slot].v.load(std::memory_order_relaxed);
    free |= uint32_t{(v & (kVValid | kLock)) == 0} << slot;
  }
  for (; free != 0; free &= free - 1) {
    const uint64_t ptex = first + static_cast<uint64_t>(std::countr_zero(free));
    std::atomic<uint64_t>& v = entries_[ptex].v;
    uint64_t old = v.load(std::memory_order_relaxed);
    if ((old & (kVValid | kLock)) != 0) continue;
    StepYieldPoint();
    if (kEntryLockBroken) return Locked(ptex, old);
    if (v.compare_exchange_strong(old, old | kLock, std::memory_order_acquire,
                                  std::memory_order_relaxed)) {
      MarkTouched(ptex);
      return Locked(ptex, old);
    }
  }
  for (uint64_t ptex = first; ptex < first + kHptesPerPteg; ++ptex) {
    if (auto entry = LockIfFree(ptex)) return entry;
  }
  return std::nullopt;
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

std::optional<HashPageTable::LockedEntry> HashPageTable::LockByHash(uint64_t hash, uint64_t avpn) {
  const uint64_t groups[] = {hash & hash_mask(), ~hash & hash_mask()};
  for (const bool secondary : {false, true}) {
    const uint64_t want = avpn | kVValid | (secondary ? kVSecondary : 0);
    bool changed = false;
    do {
      auto entry = LockInPteg(groups[secondary ? 1 : 0], want, &changed);
      if (entry.has_value()) return entry;
    } while (changed);
  }
  return std::nullopt;
}

// One pass over a PTEG for an entry whose B, AVPN, H and valid bits are `want`. `changed`: an entry
// that matched was another one by the time its lock was taken, so the pass proves nothing.
std::optional<HashPageTable::LockedEntry> HashPageTable::LockInPteg(uint64_t pteg, uint64_t want,
                                                                    bool* changed) {
  constexpr uint64_t kWant = kVCompare | kVSecondary | kVValid;
  *changed = false;
  const uint64_t first = pteg << kPtegShift;
  for (uint64_t ptex = first; ptex < first + kHptesPerPteg; ++ptex) {
    if ((entries_[ptex].v.load(std::memory_order_acquire) & kWant) != want) continue;
    LockedEntry entry = Lock(ptex);
    if ((entry.v() & kWant) == want) return entry;
    *changed = true;
  }
  return std::nullopt;
}

void HashPageTable::Clear() {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnClear();
  }
  madvise(entries_, bytes(), MADV_DONTNEED);
  madvise(touched_, TouchedBytes(), MADV_DONTNEED);
}

void HashPageTable::SetObserver(ObserverKind kind, EntryObserver* observer) {
  observers_[static_cast<size_t>(kind)] = observer;
  observed_ = observers_ != decltype(observers_){};
}

void HashPageTable::TellStore(uint64_t ptex, const Hpte& old, const Hpte& now) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnStore(ptex, old, now);
  }
}

void HashPageTable::TellSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnSetReferenceChange(ptex, old, bits);
  }
}

void HashPageTable::TellClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) {
  for (EntryObserver* observer : observers_) {
    if (observer != nullptr) observer->OnClearReferenceChange(ptex, old, bits);
  }
}

void HashPageTable::MarkTouched(uint64_t ptex) {
  const uint64_t run = ptex >> kRunShift;
  std::atomic<uint64_t>& word = touched_[run / 64];
  const uint64_t bit = uint64_t{1} << (run % 64);
  if ((word.load(std::memory_order_relaxed) & bit) == 0) {
    word.fetch_or(bit, std::memory_order_relaxed);
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

uint64_t HashPageTable::touched_bytes() const {
  uint64_t runs = 0;
  ForEachTouchedRun([&runs](uint64_t, uint64_t) { ++runs; });
  return runs * kRunBytes;
}

}  // namespace papr::mmu
