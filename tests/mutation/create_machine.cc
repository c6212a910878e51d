// Machines in this process only, so that nothing of gRPC is linked.

#include "client/local_machine.h"

namespace papr::client {

absl::StatusOr<std::unique_ptr<Machine>> CreateMachine(std::string_view target,
                                                       std::string_view /*name*/,
                                                       const hcall::PartitionConfig& config) {
  if (target != kLocalTarget) return absl::UnimplementedError("only local machines");
  return LocalMachine::Create(config);
}

}  // namespace papr::client
