// H_REMOVE, 0x04 (LoPAR "H_REMOVE").

#include "hcall/batch_loop.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {

Outcome Remove(Partition& partition, Registers& registers) {
  const auto [flags, ptex, avpn] = std::tuple(registers[0], registers[1], registers[2]);
  if (BadFlags(partition, flags, kFlagAvpn | kFlagAndCond | kFlagCmo | kFlagCompression)) {
    return {kHParameter};
  }
  if (!partition.table().Contains(ptex)) return {kHParameter};
  auto entry = LockForRemoval(partition.table(), ptex);
  if (!entry.has_value() || !PassesTests(flags, entry->v(), avpn, avpn)) return {kHNotFound};
  const mmu::Hpte old = RemoveEntry(partition, *entry);
  registers[0] = old.v;
  registers[1] = old.r;
  return {kHSuccess, 2};
}

[[gnu::flatten]] size_t RemoveLoop(Partition& partition, std::span<const HcallRequest> requests,
                                   BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<Remove, PrefetchRemoval, PrefetchRemovalAgain>(partition, requests, mode,
                                                                 results);
}

}  // namespace papr::hcall
