// A partition of a daemon.

#ifndef CLIENT_REMOTE_MACHINE_H_
#define CLIENT_REMOTE_MACHINE_H_

#include <memory>
#include <string>

#include "client/batch_limit.h"
#include "client/connection.h"
#include "client/machine.h"

namespace papr::client {

class RemoteMachine : public Machine {
 public:
  // Creates the partition and deletes it when this goes.
  static absl::StatusOr<std::unique_ptr<RemoteMachine>> Create(
      std::shared_ptr<Connection> connection, std::string name,
      const hcall::PartitionConfig& config);
  // Attaches to a partition that exists, and leaves it as it is. NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<RemoteMachine>> Attach(
      std::shared_ptr<Connection> connection, std::string name);
  ~RemoteMachine() override;

  std::string_view target() const override;
  std::unique_ptr<Hypervisor> MakeHypervisor() override;

  absl::Status Reset(std::optional<int> order) override;
  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override;
  absl::Status FinishResizePreparation(int order, int64_t return_code) override;
  absl::StatusOr<hcall::HptStatistics> GetStatistics() override;
  absl::StatusOr<mmu::TableCheckReport> Check(size_t max_findings) override;
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override;

 private:
  struct Rpc;

  // Sends the updates as they are, in one call.
  absl::Status SendUpdates(std::span<const hcall::ReferenceChange> updates);

  RemoteMachine(std::shared_ptr<Connection> connection, std::string name);

  const std::shared_ptr<Connection> connection_;
  const std::string name_;
  const std::unique_ptr<Rpc> rpc_;
  BatchLimit update_limit_;  // of one SetReferenceChange
  bool created_ = false;     // the partition is ours to delete
};

}  // namespace papr::client

#endif  // CLIENT_REMOTE_MACHINE_H_
