// H_RESIZE_HPT_PREPARE, 0x36c, and H_RESIZE_HPT_COMMIT, 0x370 (LoPAR "Hash Page Table Resize
// Option"; the order of the checks is QEMU's).

#include <memory>
#include <utility>

#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"
#include "mmu/virtual_address.h"

namespace papr::hcall {
namespace {

bool IsOrder(int64_t shift) { return shift >= mmu::kMinHptOrder && shift <= mmu::kMaxHptOrder; }

// Who may resize at all.
int64_t CheckPermission(const PartitionConfig& config) {
  if (!config.resize_permitted) return kHAuthority;
  if (config.mmu == MmuKind::kRadix) return kHNotAvailable;
  return kHSuccess;
}

// Copies the bolted entries of `old_table` to `new_table`, each to the group of its hash there and
// the same slot. H_PTEG_FULL: two of them want one place. H_HARDWARE: one has a reserved segment
// size, which only QEMU lets in.
int64_t MoveBolted(const PartitionConfig& config, const HashPageTable& old_table,
                   HashPageTable& new_table) {
  constexpr uint64_t kMoves = mmu::kVValid | mmu::kVBolted;
  int64_t code = kHSuccess;
  old_table.ForEachTouchedRun([&](uint64_t first, uint64_t count) {
    for (uint64_t ptex = first; code == kHSuccess && ptex < first + count; ++ptex) {
      if ((old_table.PeekV(ptex) & kMoves) != kMoves) continue;
      const mmu::Hpte hpte = old_table.Read(ptex);
      if ((hpte.v & mmu::kVSegmentSizeReserved) != 0) {
        code = kHHardware;
        break;
      }
      const auto sizes = config.page_sizes.Decode(hpte.v, hpte.r);
      const int base = sizes.has_value() ? sizes->base : mmu::k4K;
      uint64_t hash = mmu::RehashHash(hpte, ptex, base, old_table.hash_mask());
      if ((hpte.v & mmu::kVSecondary) != 0) hash = ~hash;
      const uint64_t slot = ptex % mmu::kHptesPerPteg;
      const uint64_t target = ((hash & new_table.hash_mask()) << mmu::kPtegShift) + slot;
      if (!new_table.InsertAt(target, hpte)) code = kHPtegFull;
    }
  });
  return code;
}

}  // namespace

Outcome ResizeHptPrepare(Partition& partition, Registers& registers) {
  const PartitionConfig& config = partition.config();
  if (const int64_t code = CheckPermission(config); code != kHSuccess) return {code};
  const uint64_t flags = registers[0];
  // QEMU takes the low 32 bits as a signed number.
  const int64_t shift =
      partition.qemu() ? static_cast<int32_t>(registers[1]) : static_cast<int64_t>(registers[1]);
  if (flags != 0 || (shift != 0 && !IsOrder(shift))) return {kHParameter};
  if (shift > config.MaxOrder()) return {kHResource};

  HptResize& resize = partition.resize();
  const HptResize::Pending pending = resize.pending();
  if (pending.state != HptResize::State::kNone && pending.order == shift) {
    if (pending.state == HptResize::State::kPreparing) return {kHLongBusyOrder100Msec};
    if (pending.return_code != kHSuccess && !partition.qemu()) resize.Discard();
    return {pending.return_code};
  }
  if (shift == 0) {
    resize.Discard();
    return {kHSuccess};
  }
  resize.Start(static_cast<int>(shift), config.resize_preparation, config.hpt_budget);
  return {kHLongBusyOrder100Msec};
}

Outcome ResizeHptCommit(Partition& partition, Registers& registers) {
  const PartitionConfig& config = partition.config();
  if (const int64_t code = CheckPermission(config); code != kHSuccess) return {code};
  const uint64_t flags = registers[0];
  const int64_t shift = static_cast<int64_t>(registers[1]);
  if (flags != 0) return {kHParameter};
  if (!partition.qemu() && shift != 0 && !IsOrder(shift)) return {kHParameter};

  HptResize& resize = partition.resize();
  const HptResize::Pending pending = resize.pending();
  if (pending.state == HptResize::State::kNone || pending.order != shift) return {kHClosed};
  if (pending.state == HptResize::State::kPreparing) return {kHBusy};
  // From here on nothing stays pending, whatever comes of it.
  std::unique_ptr<HashPageTable> table = resize.Take();
  if (table == nullptr) return {pending.return_code};
  const int64_t code = MoveBolted(config, partition.table(), *table);
  if (code != kHSuccess) return {code};
  return {partition.ReplaceTable(std::move(table)).ok() ? kHSuccess : kHNoMem};
}

}  // namespace papr::hcall
