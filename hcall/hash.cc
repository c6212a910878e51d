// H_HASH_REMOVE, H_HASH_PROTECT, H_HASH_BULK_REMOVE: the entry is named by its hash and AVPN, not
// by its slot, so that a guest need not remember slots. Proposed for Linux in 2017; the numbers and
// layouts are this project's.

#include "hcall/batch_loop.h"
#include "hcall/bulk_specifier.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {

namespace {

// An AVPN argument with any of its low 7 bits set is that of no entry.
std::optional<HashPageTable::LockedEntry> Find(Partition& partition, uint64_t hash, uint64_t avpn) {
  if ((avpn & ~mmu::kVCompare) != 0) return std::nullopt;
  return partition.table().LockByHash(hash, avpn);
}

std::optional<HashPageTable::LockedEntry> FindForRemoval(Partition& partition, uint64_t hash,
                                                         uint64_t avpn) {
  HashPageTable& table = partition.table();
  if (table.observed()) [[unlikely]] {
    table.WillStore((hash & table.hash_mask()) << mmu::kPtegShift);
  }
  return Find(partition, hash, avpn);
}

}  // namespace

Outcome HashRemove(Partition& partition, Registers& registers) {
  const uint64_t flags = registers[0];
  if (BadFlags(partition, flags, kFlagAvpn | kFlagAndCond | kFlagCmo)) return {kHParameter};
  if ((flags & kFlagAvpn) == 0) return {kHParameter};  // nothing else tells entries apart
  auto entry = FindForRemoval(partition, registers[1], registers[2]);
  if (!entry.has_value() ||
      !PassesTests(flags & kFlagAndCond, entry->v(), 0, /*and_mask=*/registers[3])) {
    return {kHNotFound};
  }
  const mmu::Hpte old = RemoveEntry(partition, *entry);
  registers[0] = old.v;
  registers[1] = old.r;
  return {kHSuccess, 2};
}

Outcome HashProtect(Partition& partition, Registers& registers) {
  const uint64_t flags = registers[0];
  if (BadFlags(partition, flags, kProtectFlags | kFlagAvpn | kFlagCmo)) return {kHParameter};
  if ((flags & kFlagAvpn) == 0) return {kHParameter};
  auto entry = Find(partition, registers[1], registers[2]);
  if (!entry.has_value()) return {kHNotFound};
  ProtectEntry(partition, *entry, flags);
  return {kHSuccess};
}

Outcome HashBulkRemove(Partition& partition, Registers& registers) {
  constexpr int kOutputs = 2 * kBulkSpecifiers;
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    uint64_t& tsh = registers[2 * i];
    const uint64_t avpn = registers[2 * i + 1];
    if (TypeOf(tsh) == BulkType::kEnd) break;
    if (TypeOf(tsh) != BulkType::kRequest || TestOf(tsh) != BulkTest::kAvpn) {
      tsh = Respond(tsh, BulkCode::kParameter);
      return {kHParameter, kOutputs};
    }
    auto entry = FindForRemoval(partition, TargetOf(tsh), avpn);
    if (!entry.has_value()) {
      tsh = Respond(tsh, BulkCode::kNotFound);
      continue;
    }
    const mmu::Hpte old = RemoveEntry(partition, *entry);
    tsh = Respond(tsh, BulkCode::kSuccess) | BulkReferenceChange(old.r);
  }
  return {kHSuccess, kOutputs};
}

[[gnu::flatten]] size_t HashRemoveLoop(Partition& partition, std::span<const HcallRequest> requests,
                                       BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<HashRemove, PrefetchHashRemoval, PrefetchHashRemovalAgain>(partition, requests,
                                                                             mode, results);
}

[[gnu::flatten]] size_t HashProtectLoop(Partition& partition,
                                        std::span<const HcallRequest> requests, BatchMode mode,
                                        std::span<HcallResult> results) {
  return LoopOver<HashProtect, PrefetchHash>(partition, requests, mode, results);
}

[[gnu::flatten]] size_t HashBulkRemoveLoop(Partition& partition,
                                           std::span<const HcallRequest> requests, BatchMode mode,
                                           std::span<HcallResult> results) {
  return LoopOver<HashBulkRemove, PrefetchHashBulk>(partition, requests, mode, results);
}

}  // namespace papr::hcall
