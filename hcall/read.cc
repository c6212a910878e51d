// H_READ, 0x0c (LoPAR "H_READ").

#include "hcall/batch_loop.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {

Outcome Read(Partition& partition, Registers& registers) {
  const uint64_t flags = registers[0];
  const uint64_t ptex = registers[1];
  if (BadFlags(partition, flags, kFlagCookie | kFlagRXlate | kFlagRead4 | kFlagCmo)) {
    return {kHParameter};
  }
  if (!partition.table().Contains(ptex)) return {kHParameter};  // before rounding
  const bool four = (flags & kFlagRead4) != 0;
  const uint64_t first = four ? ptex & ~uint64_t{3} : ptex;
  const int count = four ? 4 : 1;
  for (int i = 0; i < count; ++i) {
    const mmu::Hpte hpte = partition.table().Read(first + i);
    registers[2 * i] = hpte.v;
    registers[2 * i + 1] = hpte.r;
  }
  return {kHSuccess, 2 * count};
}

[[gnu::flatten]] size_t ReadLoop(Partition& partition, std::span<const HcallRequest> requests,
                                 BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<Read, PrefetchEntry>(partition, requests, mode, results);
}

}  // namespace papr::hcall
