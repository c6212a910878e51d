// The hypervisor as a guest sees it: the one interface through which guest code issues hcalls,
// whether they go over gRPC (remote_hypervisor.h) or stay in the process (local_hypervisor.h).
//
// A Hypervisor is for one thread, as a vCPU is; many may share a connection.

#ifndef CLIENT_HYPERVISOR_H_
#define CLIENT_HYPERVISOR_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hcall/abi.h"
#include "hcall/dispatch.h"

namespace papr::client {

class Hypervisor {
 public:
  virtual ~Hypervisor() = default;

  // Issues one hcall and waits for it. An error is the transport's; a PAPR return code is in the
  // result.
  virtual absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) = 0;

  // Issues hcalls in order, in one round trip if the other end takes so many at once, and waits;
  // `results` gets one for each that ran.
  virtual absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests,
                                  hcall::BatchMode mode,
                                  std::vector<hcall::HcallResult>* results) = 0;

  // Messages sent and answered so far; 0 for a hypervisor in this process.
  virtual uint64_t round_trips() const = 0;
};

// An hcall from opcode and arguments R4, R5, ...
inline hcall::HcallRequest MakeHcall(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  hcall::HcallRequest request;
  request.opcode = opcode;
  size_t i = 0;
  for (uint64_t argument : arguments) request.registers[i++] = argument;
  return request;
}

}  // namespace papr::client

#endif  // CLIENT_HYPERVISOR_H_
