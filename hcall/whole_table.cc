// H_CLEAR_HPT, 0x358 (LoPAR "H_CLEAR_HPT"), and H_REGISTER_PROC_TBL, 0x37c.

#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

// V of an entry of the virtual real mode area: 1 TB segment with VSID 0x1ffffff. They stay.
constexpr uint64_t kVrma = 0x4001ffffff000000;

// Entries removed before the call returns H_CONTINUE, so that one call stays around 50 ms.
constexpr uint64_t kMaxRemovals = uint64_t{1} << 20;

}  // namespace

Outcome ClearHpt(Partition& partition, Registers&) {
  HashPageTable& table = partition.table();
  uint64_t removed = 0;
  bool more = false;
  table.ForEachTouchedRun([&](uint64_t first, uint64_t count) {
    more = more || removed >= kMaxRemovals;
    if (more) return;
    for (uint64_t ptex = first; ptex < first + count; ++ptex) {
      if ((table.PeekV(ptex) & kVrma) == kVrma) continue;
      if (auto entry = LockValid(table, ptex)) {
        if ((entry->v() & kVrma) == kVrma) continue;
        RemoveEntry(partition, *entry);
        ++removed;
      }
    }
  });
  return {more ? kHContinue : kHSuccess};
}

// A POWER9 guest with the hash MMU says with all arguments 0 that it uses an HPT and an SLB.
// Process tables are not served.
Outcome RegisterProcTbl(Partition& partition, Registers& registers) {
  const bool hpt_with_slb = (registers[0] | registers[1] | registers[2] | registers[3]) == 0 &&
                            partition.config().processor == Processor::kPower9;
  return {hpt_with_slb ? kHSuccess : kHFunction};
}

}  // namespace papr::hcall
