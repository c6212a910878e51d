// What a guest does to its hashed page table, whatever lies below: hcalls (pseries_ops.h) or memory
// (native_ops.h). The table of callbacks that Linux fills at boot.
//
// For one thread. Errors are the transport's, or INTERNAL where Linux would stop the machine.

#ifndef CLIENT_GUEST_HASH_OPS_H_
#define CLIENT_GUEST_HASH_OPS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mmu/hpte.h"
#include "mmu/virtual_address.h"

namespace papr::client::guest {

// The 4 bits that a Linux PTE keeps of where its HPTE is: the index in the PTEG, plus this if it is
// the secondary PTEG.
inline constexpr uint8_t kSlotSecondary = 8;

// A page that has, or may have, an HPTE.
struct HashedPage {
  uint64_t hash = 0;  // primary, 39 bits
  uint64_t avpn = 0;  // mmu::AvpnWord()
  uint8_t slot = 0;   // 0 to 15; meaningful to those who track slots
};

// ptex of a tracked page.
constexpr uint64_t PtexOf(const HashedPage& page, uint64_t hash_mask) {
  const uint64_t hash = (page.slot & kSlotSecondary) != 0 ? ~page.hash : page.hash;
  return ((hash & hash_mask) << mmu::kPtegShift) | (page.slot & 7);
}

class HashOps {
 public:
  virtual ~HashOps() = default;

  // PTEGs of the table - 1.
  virtual uint64_t hash_mask() const = 0;

  // Stores `hpte` in a free slot of `pteg`. The slot's index, plus kSlotSecondary if V says so;
  // nothing if the PTEG is full.
  virtual absl::StatusOr<std::optional<uint8_t>> Insert(uint64_t pteg, const mmu::Hpte& hpte) = 0;
  // Removes some entry of `pteg` that is not bolted. False: there is none.
  virtual absl::StatusOr<bool> Evict(uint64_t pteg) = 0;
  // Removes the HPTE of `page`. That it is gone already is no error.
  virtual absl::Status Invalidate(const HashedPage& page) = 0;
  // The same for many pages at once.
  virtual absl::Status FlushRange(std::span<const HashedPage> pages) = 0;
};

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_HASH_OPS_H_
