// A hypervisor at the other end of a connection: an hcall is an RPC, unary `Hcall` or `HcallBatch`.
//
// One outstanding call at a time; for one thread. The messages are reused from call to call.

#ifndef CLIENT_REMOTE_HYPERVISOR_H_
#define CLIENT_REMOTE_HYPERVISOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/connection.h"
#include "client/hypervisor.h"

namespace papr::client {

class RemoteHypervisor : public Hypervisor {
 public:
  RemoteHypervisor(std::shared_ptr<Connection> connection, std::string partition);
  ~RemoteHypervisor() override;

  // Errors: as Connection::ToStatus(). After UNAVAILABLE or DEADLINE_EXCEEDED the hcall may or may
  // not have taken effect; it is never sent again.
  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override;
  // At most as many hcalls as the daemon's --max_batch_hcalls.
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override;
  uint64_t round_trips() const override { return round_trips_; }

 private:
  struct Rpc;

  const std::shared_ptr<Connection> connection_;
  const std::unique_ptr<Rpc> rpc_;
  uint64_t round_trips_ = 0;
};

}  // namespace papr::client

#endif  // CLIENT_REMOTE_HYPERVISOR_H_
