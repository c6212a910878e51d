// The hash operations of a paravirtualised guest: hcalls, as Linux's pseries platform issues them.
//
// Three ways to reach the entry of a page that is to go:
//   kSlot  the guest remembers the slot (Linux as it is);
//   kFind  it does not, and searches with H_READ of four entries, one read after the other;
//   kHash  it does not, and names the page by hash in the H_HASH_* calls.

#ifndef CLIENT_GUEST_PSERIES_OPS_H_
#define CLIENT_GUEST_PSERIES_OPS_H_

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "client/guest/hash_ops.h"
#include "client/hypervisor.h"
#include "hcall/partition.h"

namespace papr::client::guest {

enum class SlotMode : uint8_t { kSlot, kFind, kHash };

// What the device tree says about the hypervisor ("ibm,hypertas-functions"; exact strings).
struct FirmwareFeatures {
  bool bulk_remove = false;  // "hcall-bulk"
  bool hash_api = false;     // "hcall-hash-api"
};
FirmwareFeatures ReadFirmwareFeatures(const hcall::DeviceTree& tree);

struct PseriesOptions {
  SlotMode mode = SlotMode::kSlot;
  FirmwareFeatures features;
  int hpt_order = 0;  // log2 of the table's bytes
  uint64_t hash_opcode_base = hcall::kHHashRemove;
  // Removals of one flush that need not wait for each other go out in one round trip. Nothing else
  // may: a fault needs the answer of its H_ENTER, a search the answer of each H_READ.
  bool post_removals = false;
  uint64_t seed = 1;  // of the slot where an eviction starts
};

class PseriesOps : public HashOps {
 public:
  // `hypervisor` must outlive this. FAILED_PRECONDITION: mode kHash, and the hypervisor does not
  // offer the calls.
  static absl::StatusOr<PseriesOps> Create(Hypervisor* hypervisor, const PseriesOptions& options);

  uint64_t hash_mask() const override { return hash_mask_; }
  absl::StatusOr<std::optional<uint8_t>> Insert(uint64_t pteg, const mmu::Hpte& hpte) override;
  absl::StatusOr<bool> Evict(uint64_t pteg) override;
  absl::Status Invalidate(const HashedPage& page) override;
  absl::Status FlushRange(std::span<const HashedPage> pages) override;

  // Searches made (mode kFind), and the H_READ hcalls that they took.
  uint64_t finds() const { return finds_; }
  uint64_t find_reads() const { return find_reads_; }

 private:
  PseriesOps(Hypervisor* hypervisor, const PseriesOptions& options);

  absl::StatusOr<std::optional<uint64_t>> Find(const HashedPage& page);
  absl::StatusOr<std::optional<hcall::HcallRequest>> RemoveRequest(const HashedPage& page);
  absl::StatusOr<std::optional<uint64_t>> BulkTarget(const HashedPage& page);
  absl::Status FlushBulk(std::span<const HashedPage> pages);
  absl::Status FlushSingly(std::span<const HashedPage> pages);
  absl::Status SendRemoval(const hcall::HcallRequest& request);
  absl::Status SendPosted();

  Hypervisor* hypervisor_;
  PseriesOptions options_;
  uint64_t hash_mask_;
  std::minstd_rand random_;
  std::vector<hcall::HcallRequest> posted_;
  std::vector<hcall::HcallResult> posted_results_;
  uint64_t finds_ = 0;
  uint64_t find_reads_ = 0;
};

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_PSERIES_OPS_H_
