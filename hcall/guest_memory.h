// The guest's memory, as far as hcalls write it: H_PAGE_INIT and the zero-page flag of H_ENTER.
// A partition has none unless its owner installs one; the page flags of H_ENTER are then ignored.

#ifndef HCALL_GUEST_MEMORY_H_
#define HCALL_GUEST_MEMORY_H_

#include <cstdint>

namespace papr::hcall {

// Calls come from any thread that issues hcalls, with addresses inside RAM regions of the
// partition.
class GuestMemory {
 public:
  virtual ~GuestMemory() = default;
  virtual void Zero(uint64_t address, uint64_t bytes) = 0;
  virtual void Copy(uint64_t destination, uint64_t source, uint64_t bytes) = 0;
};

}  // namespace papr::hcall

#endif  // HCALL_GUEST_MEMORY_H_
