#include "client/machine.h"

#include <string>
#include <utility>

#include "client/connection.h"
#include "client/local_machine.h"
#include "client/remote_machine.h"

namespace papr::client {

absl::StatusOr<std::unique_ptr<Machine>> CreateMachine(std::string_view target,
                                                       std::string_view name,
                                                       const hcall::PartitionConfig& config) {
  if (target == kLocalTarget) return LocalMachine::Create(config);
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connection::Open(target);
  if (!connection.ok()) return connection.status();
  return RemoteMachine::Create(*std::move(connection), std::string(name), config);
}

}  // namespace papr::client
