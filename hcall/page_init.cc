// H_PAGE_INIT, 0x2c (LoPAR "H_PAGE_INIT"): zeroes or copies 4 KB of guest memory.

#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {

Outcome PageInit(Partition& partition, Registers& registers) {
  constexpr uint64_t kPageBytes = 4096;
  const uint64_t flags = registers[0];
  const uint64_t destination = registers[1];
  const uint64_t source = registers[2];
  const uint64_t defined = kFlagICacheInvalidate | kFlagICacheSynchronize | kFlagZeroPage |
                           kFlagCopyPage | (partition.qemu() ? 0 : kFlagCmo);
  if ((flags & ~defined) != 0) return {kHParameter};

  const bool copy = (flags & kFlagCopyPage) != 0;  // wins over zero
  const bool zero = !copy && (flags & kFlagZeroPage) != 0;
  if (destination % kPageBytes != 0) return {kHParameter};
  if (copy && source % kPageBytes != 0) return {kHParameter};
  // KVM-HV looks at the destination only if it writes to it; QEMU always does.
  if ((copy || zero || partition.qemu()) && partition.FindRam(destination) == nullptr) {
    return {kHParameter};
  }
  if (copy && partition.FindRam(source) == nullptr) return {kHParameter};

  if (GuestMemory* memory = partition.config().guest_memory.get(); memory != nullptr) {
    if (copy) memory->Copy(destination, source, kPageBytes);
    if (zero) memory->Zero(destination, kPageBytes);
  }
  return {kHSuccess};
}

}  // namespace papr::hcall
