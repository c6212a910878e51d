// A partition that is a QEMU pseries machine: hcalls are made by the guest program in it, R and C
// are set by its own table walks. For one thread.

#ifndef TESTS_CONFORMANCE_QEMU_QEMU_MACHINE_H_
#define TESTS_CONFORMANCE_QEMU_QEMU_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/machine.h"
#include "hcall/partition_config.h"
#include "mmu/hpte.h"
#include "tests/conformance/qemu/qemu_pool.h"
#include "tests/conformance/qemu/qemu_process.h"

namespace papr::conformance {

// An access of one byte through the MMU, as a privileged processor makes it.
struct GuestAccess {
  uint64_t effective_address = 0;
  uint64_t slb_vsid = 0;  // what slbmte takes from RS
  uint64_t slb_esid = 0;  // and from RB: ESID, valid, entry 1
  uint64_t kind = 0;      // ACCESS_* of guest_layout.h
  uint8_t byte = 0;       // what ACCESS_STORE stores
};
struct AccessResult {
  uint64_t interrupt = 0;  // its vector, or 0: the access was made
  uint64_t dsisr = 0;      // of an interrupt
  uint64_t dar = 0;
  uint8_t byte = 0;  // that was loaded

  std::string Describe() const;
};

class QemuMachine : public client::Machine {
 public:
  // A partition of `config`, with a table as after a reset. `pool` must outlive it.
  // UNIMPLEMENTED: SettingsFor(). ABORTED, DEADLINE_EXCEEDED: as QemuProcess, also for every
  // function below.
  static absl::StatusOr<std::unique_ptr<QemuMachine>> Create(QemuPool* pool,
                                                             const hcall::PartitionConfig& config);
  ~QemuMachine() override;

  std::string_view target() const override { return "qemu"; }
  // Hcalls of a caller in problem state: UNIMPLEMENTED, for they would need a translation of their
  // own.
  std::unique_ptr<client::Hypervisor> MakeHypervisor() override;

  // A fresh table, even of another order than QEMU's own: there every entry is entered and removed
  // once after the resize, so that it reads as one that was made at reset.
  absl::Status Reset(std::optional<int> order) override;
  // By accesses that translate through the entry: a load for R, a store for R and C.
  // OUT_OF_RANGE: the entry. FAILED_PRECONDITION: it is not valid, the access faults, or it went
  // through another entry of that address. UNIMPLEMENTED: C without R, as no access sets it.
  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override;
  // UNIMPLEMENTED: QEMU ends it by itself.
  absl::Status FinishResizePreparation(int order, int64_t return_code) override;
  // `resident_bytes` is the whole table.
  absl::StatusOr<hcall::HptStatistics> GetStatistics() override;
  absl::StatusOr<mmu::TableCheckReport> Check(size_t max_findings) override;  // UNIMPLEMENTED
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override;                 // UNIMPLEMENTED

  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request);
  // As client::Hypervisor::HcallBatch(), in as few requests to the guest program as they fit into.
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results);
  // All entries, as H_READ gives them.
  absl::StatusOr<std::vector<mmu::Hpte>> ReadTable();
  absl::StatusOr<AccessResult> Access(const GuestAccess& access);
  // The access that translates through `hpte` at `ptex`. FAILED_PRECONDITION: none does, as QEMU
  // knows neither its page size nor its segment size.
  absl::StatusOr<GuestAccess> AccessThrough(uint64_t ptex, const mmu::Hpte& hpte) const;

  int order() const { return order_; }  // of the current table
  // Guest RAM. Nothing of it but page 0 and what guest_layout.h names is used.
  std::span<std::byte> ram() { return process_->ram(); }

 private:
  QemuMachine(QemuPool* pool, const hcall::PartitionConfig& config,
              std::unique_ptr<QemuProcess> process);

  // From a machine just reset to a fresh table of `order`.
  absl::Status MakeFreshTable(int order);
  absl::Status Resize(int order);
  absl::Status SetReferenceChange(const hcall::ReferenceChange& update);
  absl::StatusOr<mmu::Hpte> ReadEntry(uint64_t ptex);
  // What `registers`, R3 to R12 after a call, say.
  hcall::HcallResult ResultOf(const hcall::HcallRequest& request, const GuestRegisters& registers);
  void FollowResize(const hcall::HcallRequest& request, int64_t return_code);

  QemuPool* const pool_;
  const hcall::PartitionConfig config_;
  std::unique_ptr<QemuProcess> process_;
  int order_ = 0;
  std::optional<int> pending_order_;
  bool pending_ready_ = false;
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QEMU_MACHINE_H_
