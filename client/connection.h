// A connection to hptd: the gRPC channel, and how its calls fail in words that help.
//
// Any number of threads may share a Connection.

#ifndef CLIENT_CONNECTION_H_
#define CLIENT_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace papr::client {

// How long a call may take before it ends with DEADLINE_EXCEEDED: a full scan of a very large table
// is the slowest there is.
inline constexpr std::chrono::seconds kDefaultCallTimeout{120};

class Connection {
 public:
  // INVALID_ARGUMENT if Open() would refuse the address.
  static absl::Status CheckAddress(std::string_view address);

  // `address` is "host:port" (port 1 to 65535; an IPv6 address in brackets), "unix:/path" or
  // "/path". Nothing is sent before the first call. No
  // call is ever sent twice: an hcall is not idempotent. INVALID_ARGUMENT: no such form.
  static absl::StatusOr<std::shared_ptr<Connection>> Open(
      std::string_view address, std::chrono::seconds timeout = kDefaultCallTimeout);

  const std::string& address() const { return address_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Sets the deadline of a call that is about to be made, and that it fails at once if the daemon
  // cannot be reached.
  void Prepare(grpc::ClientContext* context) const;

  // What a finished call amounts to. The code is gRPC's own. UNAVAILABLE and DEADLINE_EXCEEDED name
  // the address; the others carry the daemon's message.
  absl::Status ToStatus(const grpc::Status& status) const;

 private:
  Connection(std::string address, std::chrono::seconds timeout,
             std::shared_ptr<grpc::Channel> channel);

  const std::string address_;
  const std::chrono::seconds timeout_;
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace papr::client

#endif  // CLIENT_CONNECTION_H_
