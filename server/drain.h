// The end of a gRPC server that has callers.

#ifndef SERVER_DRAIN_H_
#define SERVER_DRAIN_H_

#include <grpcpp/grpcpp.h>

#include "absl/time/time.h"
#include "server/drain_state.h"
#include "server/rpc_metrics.h"

namespace papr::server {

// Shuts `server` down: refuses new calls of our services, waits for those in progress, and cancels
// them after `grace`; connections and other services' streams without a call of ours do not hold it
// up. A call that has reached the server is answered, unless its client keeps sending without
// waiting for answers. Requires that `state` drains. Returns when no call is left.
void DrainGrpc(grpc::Server& server, DrainState& state, const RpcMetrics& rpcs,
               absl::Duration grace);

}  // namespace papr::server

#endif  // SERVER_DRAIN_H_
