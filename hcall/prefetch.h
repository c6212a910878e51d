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

// Where something follows the changes of the table, what it needs for a change can depend on the
// entry: it is fetched in a second step, so many hcalls ahead, when the entry has arrived.
inline constexpr size_t kSecondPrefetchDistance = 8;

using HcallPrefetch = void (*)(Partition& partition, const Registers& registers);

inline void NoPrefetch(Partition& /*partition*/, const Registers& /*registers*/) {}

// R5 is a ptex: its entry.
inline void PrefetchEntry(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (table.Contains(registers[1])) table.Prefetch(registers[1]);
}

// R5 is a ptex, and the entry will be removed.
inline void PrefetchRemoval(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (!table.Contains(registers[1])) return;
  table.Prefetch(registers[1]);
  if (table.observed()) [[unlikely]]
    table.WillStore(registers[1]);
}
inline void PrefetchRemovalAgain(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (table.Contains(registers[1])) table.WillStore(registers[1], table.Read(registers[1]));
}

// R5 is a ptex: its PTEG, for an entry with V in R6 and R in R7.
inline void PrefetchEnter(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (!table.Contains(registers[1])) return;
  table.PrefetchPteg(registers[1] >> mmu::kPtegShift);
  if (table.observed()) [[unlikely]] {
    table.WillStore(registers[1], {registers[2], registers[3]});
  }
}

// R5 is a hash: its primary PTEG. The secondary one is rarely needed.
inline void PrefetchHash(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  table.PrefetchPteg(registers[1] & table.hash_mask());
}

// R5 is a hash, and the entry with the AVPN in R6 will be removed.
inline void PrefetchHashRemoval(Partition& partition, const Registers& registers) {
  PrefetchHash(partition, registers);
  const mmu::HashPageTable& table = partition.table();
  if (table.observed()) [[unlikely]] {
    table.WillStore((registers[1] & table.hash_mask()) << mmu::kPtegShift);
  }
}
inline void PrefetchHashRemovalAgain(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  if (const auto ptex = table.PeekByHash(registers[1], registers[2])) {
    table.WillStore(*ptex, table.Read(*ptex));
  }
}

// R4, R6, R8, R10 are specifiers with a ptex.
inline void PrefetchBulk(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    const uint64_t tsh = registers[2 * i];
    if (TypeOf(tsh) != BulkType::kRequest) return;
    if (!table.Contains(TargetOf(tsh))) continue;
    table.Prefetch(TargetOf(tsh));
    if (table.observed()) [[unlikely]]
      table.WillStore(TargetOf(tsh));
  }
}
inline void PrefetchBulkAgain(Partition& partition, const Registers& registers) {
  const mmu::HashPageTable& table = partition.table();
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    const uint64_t ptex = TargetOf(registers[2 * i]);
    if (TypeOf(registers[2 * i]) != BulkType::kRequest) return;
    if (table.Contains(ptex)) table.WillStore(ptex, table.Read(ptex));
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
