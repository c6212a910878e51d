// A partition in this process.

#ifndef CLIENT_LOCAL_MACHINE_H_
#define CLIENT_LOCAL_MACHINE_H_

#include <memory>

#include "client/machine.h"
#include "hcall/partition.h"

namespace papr::client {

class LocalMachine : public Machine {
 public:
  // INVALID_ARGUMENT, RESOURCE_EXHAUSTED: as hcall::Partition::Create().
  static absl::StatusOr<std::unique_ptr<LocalMachine>> Create(const hcall::PartitionConfig& config);

  std::string_view target() const override { return "local"; }
  std::unique_ptr<Hypervisor> MakeHypervisor() override;

  absl::Status Reset(std::optional<int> order) override;
  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override;
  absl::Status FinishResizePreparation(int order, int64_t return_code) override;
  absl::StatusOr<hcall::HptStatistics> GetStatistics() override;
  absl::StatusOr<mmu::TableCheckReport> Check(size_t max_findings) override;
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override;

 private:
  explicit LocalMachine(std::unique_ptr<hcall::Partition> partition);

  const std::unique_ptr<hcall::Partition> partition_;
};

}  // namespace papr::client

#endif  // CLIENT_LOCAL_MACHINE_H_
