// The hash operations of a kernel on bare metal (Linux's powernv platform): it owns the table in
// its memory and there are no hcalls. TLB invalidations, which follow each removal there, are not
// modelled.

#ifndef CLIENT_GUEST_NATIVE_OPS_H_
#define CLIENT_GUEST_NATIVE_OPS_H_

#include <cstdint>
#include <random>

#include "client/guest/hash_ops.h"
#include "mmu/hash_page_table.h"

namespace papr::client::guest {

class NativeOps : public HashOps {
 public:
  // `table` must outlive this. `seed`: of the slot where an eviction starts.
  NativeOps(mmu::HashPageTable* table, uint64_t seed)
      : table_(table), random_(static_cast<std::minstd_rand::result_type>(seed)) {}

  uint64_t hash_mask() const override { return table_->hash_mask(); }
  absl::StatusOr<std::optional<uint8_t>> Insert(uint64_t pteg, const mmu::Hpte& hpte) override;
  absl::StatusOr<bool> Evict(uint64_t pteg) override;
  absl::Status Invalidate(const HashedPage& page) override;
  absl::Status FlushRange(std::span<const HashedPage> pages) override;

 private:
  mmu::HashPageTable* const table_;
  std::minstd_rand random_;
};

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_NATIVE_OPS_H_
