// Which entries of a hashed page table changed since an export reported them: a byte an entry,
// memory for which is taken as entries are marked.
//
// An entry is dirty if something was stored in it, also the same again; if R or C was cleared in
// it; or if a table walk has set R or C. A bit that only a walk has set since the last report, and
// that is cleared again, leaves the entry as it was reported, and so not dirty (KVM-HV, which keeps
// what a walk sets apart from the guest's word until it is asked).
//
// Threads: as EntryObserver. dirty() and NextDirty() may be called without a lock and are hints
// then: a change in progress may show or not. What they say of a change that happened before is
// right.

#ifndef MMU_EXPORT_MARKS_H_
#define MMU_EXPORT_MARKS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "mmu/entry_observer.h"
#include "mmu/lazy_array.h"

namespace papr::mmu {

class ExportMarks final : public EntryObserver {
 public:
  // For a table of `entry_count` entries, none of them dirty. RESOURCE_EXHAUSTED: the host has no
  // address space.
  static absl::StatusOr<std::unique_ptr<ExportMarks>> Create(uint64_t entry_count);
  ExportMarks(const ExportMarks&) = delete;
  ExportMarks& operator=(const ExportMarks&) = delete;

  // Requires ptex < entry_count.
  bool dirty(uint64_t ptex) const { return marks_[ptex].load(std::memory_order_relaxed) != 0; }
  // The lowest dirty entry in first..end-1; `end` if there is none. Requires end <= entry_count.
  uint64_t NextDirty(uint64_t first, uint64_t end) const;
  // The entry is reported as it is now. Requires its lock.
  void Clear(uint64_t ptex) { Set(ptex, 0); }

  void OnStore(uint64_t ptex, const Hpte& old, const Hpte& now) override;
  void OnSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) override;
  void OnClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) override;
  void OnClear() override;

 private:
  using Mark = std::atomic<uint8_t>;
  static_assert(sizeof(Mark) == 1 && Mark::is_always_lock_free);

  explicit ExportMarks(uint64_t entry_count) : marks_(entry_count, HostMemory::HugePages::kNo) {}
  // Only under the entry's lock, so that a load and a store make one step.
  uint8_t Get(uint64_t ptex) const { return marks_[ptex].load(std::memory_order_relaxed); }
  void Set(uint64_t ptex, uint8_t mark) { marks_[ptex].store(mark, std::memory_order_relaxed); }

  LazyArray<Mark> marks_;
};

}  // namespace papr::mmu

#endif  // MMU_EXPORT_MARKS_H_
