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

#include "client/batch_limit.h"
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
  // What is longer than the daemon's --max_batch_hcalls goes in pieces, each a round trip; other
  // guests' hcalls may come between them. If one fails, `results` holds those of the pieces before.
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override;
  uint64_t round_trips() const override { return round_trips_; }

 private:
  struct Rpc;

  // Sends one batch as it is and appends its results.
  absl::Status SendPiece(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                         std::vector<hcall::HcallResult>* results);

  const std::shared_ptr<Connection> connection_;
  const std::unique_ptr<Rpc> rpc_;
  BatchLimit batch_limit_;
  uint64_t round_trips_ = 0;
};

}  // namespace papr::client

#endif  // CLIENT_REMOTE_HYPERVISOR_H_
