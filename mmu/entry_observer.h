// Follows the changes of a hashed page table's entries: a reverse map, an export that reports what
// changed since its last pass. A table without observers pays one predictable branch a change.
//
// Threads: every function but OnClear() is called by the thread that changes the entry, with that
// entry's lock held; an implementation must not wait for another entry's lock.

#ifndef MMU_ENTRY_OBSERVER_H_
#define MMU_ENTRY_OBSERVER_H_

#include <cstdint>

#include "mmu/hpte.h"

namespace papr::mmu {

class EntryObserver {
 public:
  virtual ~EntryObserver() = default;

  // `now` takes the place of `old`, either of them valid or not; they may be equal.
  virtual void OnStore(uint64_t ptex, const Hpte& old, const Hpte& now) = 0;
  // A table walk set `bits` (kRReferenced, kRChanged) in the valid entry `old`, whether they were
  // set already or not.
  virtual void OnSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) = 0;
  // `bits` of the valid entry `old`, all of them set in it, are cleared (H_CLEAR_REF, H_CLEAR_MOD).
  virtual void OnClearReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) = 0;
  // Every entry becomes the empty value at once; nothing else uses the table meanwhile.
  virtual void OnClear() = 0;

  // Hints, without a lock: fetch what OnStore() will need for an entry of the PTEG of `ptex`, and,
  // since that may depend on it, for an entry that holds `hpte` now or soon. No effect but on time.
  virtual void WillStore(uint64_t /*ptex*/) const {}
  virtual void WillStore(uint64_t /*ptex*/, const Hpte& /*hpte*/) const {}
};

}  // namespace papr::mmu

#endif  // MMU_ENTRY_OBSERVER_H_
