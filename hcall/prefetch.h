// What a batch fetches ahead: the entries that a call with these arguments will touch. No effect
// but on time; any register values are legal. Each requires a Quiescence guard of the partition,
// which has a hashed page table.

#ifndef HCALL_PREFETCH_H_
#define HCALL_PREFETCH_H_

#include <cstddef>

#include "hcall/abi.h"
#include "hcall/bulk_specifier.h"
#include "hcall/partition.h"

namespace papr::hcall {

// How many hcalls before its own turn an entry is fetched. Fewer do not cover the time that memory
// takes; more than the processor keeps outstanding are lost.
inline constexpr size_t kPrefetchDistance = 16;

using HcallPrefetch = void (*)(Partition& partition, const Registers& registers);

// R5 is a ptex: its entry.
inline void PrefetchEntry(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (table.Contains(registers[1])) table.Prefetch(registers[1]);
}

// R5 is a ptex: its PTEG.
inline void PrefetchPteg(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (table.Contains(registers[1])) table.PrefetchPteg(registers[1] >> mmu::kPtegShift);
}

// R5 is a hash: its primary PTEG. The secondary one is rarely needed.
inline void PrefetchHash(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  table.PrefetchPteg(registers[1] & table.hash_mask());
}

// R4, R6, R8, R10 are specifiers with a ptex.
inline void PrefetchBulk(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    const uint64_t tsh = registers[2 * i];
    if (TypeOf(tsh) != BulkType::kRequest) return;
    if (table.Contains(TargetOf(tsh))) table.Prefetch(TargetOf(tsh));
  }
}

// R4, R6, R8, R10 are specifiers with a hash.
inline void PrefetchHashBulk(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    const uint64_t tsh = registers[2 * i];
    if (TypeOf(tsh) != BulkType::kRequest) return;
    table.PrefetchPteg(TargetOf(tsh) & table.hash_mask());
  }
}

}  // namespace papr::hcall

#endif  // HCALL_PREFETCH_H_
