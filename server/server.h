// The daemon's life: build, listen, drain.
//
// Threads: Start() and the destructor on one; the rest from any.

#ifndef SERVER_SERVER_H_
#define SERVER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/options.h"

namespace papr::server {

class Server {
 public:
  // Creates the partitions of `options`, listens, and serves. An error names the flag, the
  // partition or the address that it is about; nothing is left listening then.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options);
  virtual ~Server() = default;

  // Addresses of gRPC over TCP, HOST:PORT, with the ports that were taken.
  virtual std::vector<std::string> grpc_addresses() const = 0;
  // As given; empty if there is none.
  virtual std::string unix_socket() const = 0;
  // Empty if there is none.
  virtual std::string metrics_url() const = 0;

  // Tells health checks that this daemon is going, refuses new calls, and waits for those in
  // progress; after `grace` it cancels them. Idle connections and open streams of health checks and
  // reflection do not hold it up. Returns when no call is left. The second call returns at
  // once.
  virtual void Drain(absl::Duration grace) = 0;
};

}  // namespace papr::server

#endif  // SERVER_SERVER_H_
