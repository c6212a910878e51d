// A partition from outside the guest: what its owner and its simulated processor do with it beside
// hcalls. With a Hypervisor this is all that replay and the experiments need. Implemented over gRPC
// (remote_machine.h) and in the process (local_machine.h).
//
// A Machine is for one thread.

#ifndef CLIENT_MACHINE_H_
#define CLIENT_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/hypervisor.h"
#include "hcall/partition.h"

namespace papr::client {

class Machine {
 public:
  virtual ~Machine() = default;  // deletes the partition if this Machine created it

  // "local", or the daemon's address.
  virtual std::string_view target() const = 0;
  // A new guest's view of the partition; must not outlive the Machine.
  virtual std::unique_ptr<Hypervisor> MakeHypervisor() = 0;

  virtual absl::Status Reset(std::optional<int> order) = 0;
  virtual absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) = 0;
  virtual absl::Status FinishResizePreparation(int order, int64_t return_code) = 0;
  virtual absl::StatusOr<hcall::HptStatistics> GetStatistics() = 0;  // with the digest
  virtual absl::StatusOr<mmu::TableCheckReport> Check(size_t max_findings) = 0;
  virtual absl::StatusOr<hcall::DeviceTree> GetDeviceTree() = 0;
};

// The target that means: in this process.
inline constexpr std::string_view kLocalTarget = "local";

// A partition of `config` on `target`: "local", or the address of a daemon ("host:port",
// "unix:/path"). On a daemon it gets `name`, must not exist, and is deleted with the Machine.
absl::StatusOr<std::unique_ptr<Machine>> CreateMachine(std::string_view target,
                                                       std::string_view name,
                                                       const hcall::PartitionConfig& config);

}  // namespace papr::client

#endif  // CLIENT_MACHINE_H_
