// What a daemon is started with. Plain data.

#ifndef SERVER_OPTIONS_H_
#define SERVER_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hcall/partition_spec.h"
#include "server/identity.h"
#include "server/limits.h"
#include "server/listen_address.h"

namespace papr::server {

struct PartitionAtStart {
  hcall::PartitionSpec spec;
  std::string where;  // it was asked for, for messages: "--partition", "FILE:LINE"
};

struct ServerOptions {
  std::vector<ListenAddress> listen;          // gRPC over TCP; may be empty
  std::string unix_socket;                    // path of a socket for gRPC; empty: none
  std::vector<ListenAddress> metrics_listen;  // HTTP for Prometheus; none or one
  Exposure exposure = Exposure::kLoopbackOnly;
  Limits limits;
  absl::Duration idle_timeout = absl::Hours(1);          // a connection without RPCs is closed
  absl::Duration keepalive_interval = absl::Minutes(1);  // between pings to a silent client
  std::vector<PartitionAtStart> partitions;              // to create at start
};

}  // namespace papr::server

#endif  // SERVER_OPTIONS_H_
