// H_ENTER, 0x08 (LoPAR "H_ENTER").

#include "hcall/batch_loop.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

constexpr uint64_t kPageFlags = kFlagZeroPage | kFlagICacheInvalidate | kFlagICacheSynchronize;
constexpr uint64_t kDefinedFlags =
    kFlagCookie | kFlagExact | kFlagCmo | kPageFlags | kFlagCoalesce | kFlagMui | kFlagCompression;

// QEMU takes RAM only as plain memory (WIMG 0010) and anything else only cache-inhibited, with or
// without M and G.
bool QemuTakesWimg(bool is_ram, uint64_t r) {
  if (is_ram) return (r & mmu::kRWimg) == mmu::kRCoherent;
  const uint64_t wim = r & (mmu::kRWriteThrough | mmu::kRCacheInhibited | mmu::kRCoherent);
  return (wim & ~mmu::kRCoherent) == mmu::kRCacheInhibited;
}

// A page in RAM must lie in a region that begins and ends on a multiple of its size.
bool RegionSuits(const MemoryRegion& region, int actual_shift) {
  const uint64_t in_page = (uint64_t{1} << actual_shift) - 1;
  return ((region.base | region.size) & in_page) == 0;
}

}  // namespace

Outcome Enter(Partition& partition, Registers& registers) {
  const uint64_t flags = registers[0];
  const uint64_t ptex = registers[1];
  const uint64_t v = registers[2];
  uint64_t r = registers[3];
  if (BadFlags(partition, flags, kDefinedFlags)) return {kHParameter};

  if (!partition.qemu()) {
    if ((v & mmu::kVSegmentSizeReserved) != 0) return {kHParameter};
    r &= ~mmu::kRHypervisor;
  }
  const auto sizes = partition.config().page_sizes.Decode(v, r);
  if (!sizes.has_value()) return {kHParameter};

  const uint64_t page_bytes = uint64_t{1} << sizes->actual;
  const uint64_t address = r & mmu::kRRpn & ~(page_bytes - 1);
  const MemoryRegion* ram = partition.FindRam(address);
  if (partition.qemu()) {
    if (!QemuTakesWimg(ram != nullptr, r)) return {kHParameter};
  } else if (ram != nullptr && !RegionSuits(*ram, sizes->actual)) {
    return {kHParameter};
  }
  if (!partition.table().Contains(ptex)) return {kHParameter};

  // The page flags are for RAM, and QEMU has none of them.
  GuestMemory* memory = partition.config().guest_memory.get();
  const bool page_work =
      memory != nullptr && ram != nullptr && !partition.qemu() && (flags & kPageFlags) != 0;
  if (page_work && sizes->actual > mmu::k64K) return {kHTooBig};

  if (partition.table().observed()) [[unlikely]]
    partition.table().WillStore(ptex, {v, r});
  auto entry = (flags & kFlagExact) != 0 ? partition.table().LockIfFree(ptex)
                                         : partition.table().LockFirstFree(ptex >> mmu::kPtegShift);
  if (!entry.has_value()) return {kHPtegFull};
  if (page_work && (flags & kFlagZeroPage) != 0) {
    memory->Zero(address, page_bytes);  // before the mapping becomes valid
  }
  entry->Store({partition.StoredV(v), r});
  registers[0] = entry->ptex();
  return {kHSuccess, 1};
}

[[gnu::flatten]] size_t EnterLoop(Partition& partition, std::span<const HcallRequest> requests,
                                  BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<Enter, PrefetchEnter>(partition, requests, mode, results);
}

}  // namespace papr::hcall
