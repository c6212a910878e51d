// What the page table hcalls do to an entry once it is found and locked, whether it was found by
// its slot or by its hash, and the tests that decide whether they do it. Small and inlined: this is
// the hot path.

#ifndef HCALL_ENTRY_OPS_H_
#define HCALL_ENTRY_OPS_H_

#include <cstdint>
#include <optional>

#include "hcall/abi.h"
#include "hcall/partition.h"
#include "mmu/hash_page_table.h"

namespace papr::hcall {

using mmu::HashPageTable;

// The valid entry at `ptex`, locked; nothing if it is not valid. The look before the lock spares an
// empty slot the write that a lock is. Requires table.Contains(ptex).
inline std::optional<HashPageTable::LockedEntry> LockValid(HashPageTable& table, uint64_t ptex) {
  if ((table.PeekV(ptex) & mmu::kVValid) == 0) return std::nullopt;
  HashPageTable::LockedEntry entry = table.Lock(ptex);
  if (!entry.valid()) return std::nullopt;
  return entry;
}

// LockValid(), for a call that will remove the entry.
inline std::optional<HashPageTable::LockedEntry> LockForRemoval(HashPageTable& table,
                                                                uint64_t ptex) {
  if (table.observed()) [[unlikely]] {
    table.WillStore(ptex);
  }
  return LockValid(table, ptex);
}

// H_AVPN and H_ANDCOND of H_REMOVE (LoPAR): each flag that is set must pass.
inline bool PassesTests(uint64_t flags, uint64_t v, uint64_t avpn, uint64_t and_mask) {
  if ((flags & kFlagAvpn) != 0 && !mmu::MatchesAvpn(v, avpn)) return false;
  return (flags & kFlagAndCond) == 0 || (v & and_mask) == 0;
}

// Invalidates the entry; returns what it was, with R and C final.
inline mmu::Hpte RemoveEntry(const Partition& partition, HashPageTable::LockedEntry& entry) {
  const mmu::Hpte old = entry.hpte();
  entry.Store(partition.removed_entry());
  return old;
}

// Replaces pp, N and key by those in the flags word of H_PROTECT; all else stays.
inline void ProtectEntry(const Partition& partition, HashPageTable::LockedEntry& entry,
                         uint64_t flags) {
  const uint64_t bits = ((flags & kFlagPp0) << 55) | ((flags & kFlagKeyHigh) << 48) |
                        (flags & (kFlagKeyLow | kFlagNoExecute | kFlagPp));
  entry.StoreProtection({partition.qemu() ? partition.StoredV(entry.v()) : entry.v(),
                         (entry.r() & ~mmu::kRProtection) | bits});
}

// With strict_flags: a bit that the call does not define.
inline bool BadFlags(const Partition& partition, uint64_t flags, uint64_t defined) {
  return partition.config().strict_flags && (flags & ~defined) != 0;
}

}  // namespace papr::hcall

#endif  // HCALL_ENTRY_OPS_H_
