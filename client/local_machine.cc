#include "client/local_machine.h"

#include <utility>

#include "client/local_hypervisor.h"

namespace papr::client {

absl::StatusOr<std::unique_ptr<LocalMachine>> LocalMachine::Create(
    const hcall::PartitionConfig& config) {
  absl::StatusOr<std::unique_ptr<hcall::Partition>> partition = hcall::Partition::Create(config);
  if (!partition.ok()) return partition.status();
  return std::unique_ptr<LocalMachine>(new LocalMachine(*std::move(partition)));
}

LocalMachine::LocalMachine(std::unique_ptr<hcall::Partition> partition)
    : partition_(std::move(partition)) {}

std::unique_ptr<Hypervisor> LocalMachine::MakeHypervisor() {
  return std::make_unique<LocalHypervisor>(partition_.get());
}

absl::Status LocalMachine::Reset(std::optional<int> order) { return partition_->Reset(order); }

absl::Status LocalMachine::SetReferenceChange(std::span<const hcall::ReferenceChange> updates) {
  size_t applied = 0;
  return partition_->SetReferenceChange(updates, &applied);
}

absl::Status LocalMachine::FinishResizePreparation(int order, int64_t return_code) {
  return partition_->FinishResizePreparation(order, return_code);
}

absl::StatusOr<hcall::HptStatistics> LocalMachine::GetStatistics() {
  return partition_->GetStatistics();
}

absl::StatusOr<mmu::TableCheckReport> LocalMachine::Check(size_t max_findings) {
  return partition_->Check(max_findings);
}

absl::StatusOr<hcall::DeviceTree> LocalMachine::GetDeviceTree() {
  return partition_->GetDeviceTree();
}

}  // namespace papr::client
