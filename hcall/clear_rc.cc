// H_CLEAR_MOD, 0x10, and H_CLEAR_REF, 0x14 (LoPAR "H_CLEAR_MOD", "H_CLEAR_REF").

#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

Outcome ClearBit(Partition& partition, Registers& registers, uint64_t bit) {
  if (BadFlags(partition, registers[0], kFlagCmo)) return {kHParameter};
  const uint64_t ptex = registers[1];
  if (!partition.table().Contains(ptex)) return {kHParameter};
  auto entry = LockValid(partition.table(), ptex);
  if (!entry.has_value()) return {kHNotFound};
  const mmu::Hpte old = entry->hpte();
  if ((old.r & bit) != 0) entry->ClearReferenceChange(bit);
  registers[0] = old.r;
  return {kHSuccess, 1};
}

}  // namespace

Outcome ClearMod(Partition& partition, Registers& registers) {
  return ClearBit(partition, registers, mmu::kRChanged);
}

Outcome ClearRef(Partition& partition, Registers& registers) {
  return ClearBit(partition, registers, mmu::kRReferenced);
}

}  // namespace papr::hcall
