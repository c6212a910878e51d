#include "client/remote_machine.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "client/config_proto.h"
#include "client/partition_admin.h"
#include "client/remote_hypervisor.h"
#include "papr/mmu/v1/mmu.grpc.pb.h"

namespace papr::client {
namespace {

namespace v1 = ::papr::mmu::v1;

// Updates in one SetReferenceChange call at most; a daemon may take fewer.
constexpr size_t kUpdatesPerCall = 1024;

}  // namespace

struct RemoteMachine::Rpc {
  explicit Rpc(const std::shared_ptr<Connection>& connection)
      : admin(connection), mmu(v1::MmuService::NewStub(connection->channel())) {}

  PartitionAdmin admin;
  std::unique_ptr<v1::MmuService::Stub> mmu;
};

absl::StatusOr<std::unique_ptr<RemoteMachine>> RemoteMachine::Create(
    std::shared_ptr<Connection> connection, std::string name,
    const hcall::PartitionConfig& config) {
  std::unique_ptr<RemoteMachine> machine(new RemoteMachine(std::move(connection), std::move(name)));
  if (auto created = machine->rpc_->admin.Create(machine->name_, config); !created.ok()) {
    return created.status();
  }
  machine->created_ = true;
  return machine;
}

absl::StatusOr<std::unique_ptr<RemoteMachine>> RemoteMachine::Attach(
    std::shared_ptr<Connection> connection, std::string name) {
  std::unique_ptr<RemoteMachine> machine(new RemoteMachine(std::move(connection), std::move(name)));
  if (auto found = machine->rpc_->admin.Get(machine->name_); !found.ok()) return found.status();
  return machine;
}

RemoteMachine::RemoteMachine(std::shared_ptr<Connection> connection, std::string name)
    : connection_(std::move(connection)),
      name_(std::move(name)),
      rpc_(std::make_unique<Rpc>(connection_)) {}

RemoteMachine::~RemoteMachine() {
  if (!created_) return;
  if (absl::Status status = rpc_->admin.Delete(name_); !status.ok()) {
    spdlog::warn("partition \"{}\" may remain at {}: {}", name_, connection_->address(),
                 std::string(status.message()));
  }
}

std::string_view RemoteMachine::target() const { return connection_->address(); }

std::unique_ptr<Hypervisor> RemoteMachine::MakeHypervisor() {
  return std::make_unique<RemoteHypervisor>(connection_, name_);
}

absl::Status RemoteMachine::Reset(std::optional<int> order) {
  return rpc_->admin.Reset(name_, order).status();
}

absl::Status RemoteMachine::SetReferenceChange(std::span<const hcall::ReferenceChange> updates) {
  while (!updates.empty()) {
    const size_t count = update_limit_.Piece(std::min(updates.size(), kUpdatesPerCall));
    const absl::Status status = SendUpdates(updates.first(count));
    if (!status.ok()) {
      if (update_limit_.Piece(count) < count) continue;  // refused, and the limit is known now
      return status;
    }
    updates = updates.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status RemoteMachine::SendUpdates(std::span<const hcall::ReferenceChange> updates) {
  v1::SetReferenceChangeRequest request;
  request.set_partition(name_);
  for (const hcall::ReferenceChange& update : updates) {
    v1::ReferenceChange* added = request.add_updates();
    added->set_ptex(update.ptex);
    added->set_referenced(update.referenced);
    added->set_changed(update.changed);
  }
  v1::SetReferenceChangeResponse response;
  grpc::ClientContext context;
  connection_->Prepare(&context);
  const grpc::Status status = rpc_->mmu->SetReferenceChange(&context, request, &response);
  update_limit_.Learn(context, status, updates.size());
  return connection_->ToStatus(status);
}

absl::Status RemoteMachine::FinishResizePreparation(int order, int64_t return_code) {
  return rpc_->admin.FinishResizePreparation(name_, order, return_code);
}

absl::StatusOr<hcall::HptStatistics> RemoteMachine::GetStatistics() {
  absl::StatusOr<v1::HptStatistics> statistics = rpc_->admin.GetStatistics(name_);
  if (!statistics.ok()) return statistics.status();
  return FromProto(*statistics);
}

absl::StatusOr<mmu::TableCheckReport> RemoteMachine::Check(size_t max_findings) {
  const size_t limit = std::min(max_findings, static_cast<size_t>(std::numeric_limits<int>::max()));
  absl::StatusOr<v1::CheckHptResponse> response = rpc_->admin.Check(name_, static_cast<int>(limit));
  if (!response.ok()) return response.status();
  return FromProto(*response);
}

absl::StatusOr<hcall::DeviceTree> RemoteMachine::GetDeviceTree() {
  absl::StatusOr<v1::Partition> partition = rpc_->admin.Get(name_);
  if (!partition.ok()) return partition.status();
  return FromProto(partition->device_tree());
}

}  // namespace papr::client
