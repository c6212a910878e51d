// H_PROTECT, 0x18 (LoPAR "H_PROTECT"). R is kept, as KVM-HV and QEMU do; LoPAR would clear it.

#include "hcall/batch_loop.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {

Outcome Protect(Partition& partition, Registers& registers) {
  const uint64_t flags = registers[0];
  const uint64_t ptex = registers[1];
  const uint64_t avpn = registers[2];
  if (BadFlags(partition, flags, kProtectFlags | kFlagAvpn | kFlagCmo)) return {kHParameter};
  if (!partition.table().Contains(ptex)) return {kHParameter};
  auto entry = LockValid(partition.table(), ptex);
  if (!entry.has_value() || !PassesTests(flags & kFlagAvpn, entry->v(), avpn, 0)) {
    return {kHNotFound};
  }
  ProtectEntry(partition, *entry, flags);
  return {kHSuccess};
}

[[gnu::flatten]] size_t ProtectLoop(Partition& partition, std::span<const HcallRequest> requests,
                                    BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<Protect, PrefetchEntry>(partition, requests, mode, results);
}

}  // namespace papr::hcall
