// How an absl::Status of server/errors.h goes over the wire: a gRPC status, and the ErrorDetail in
// the trailing metadata `papr-error-bin`.

#ifndef SERVER_GRPC_STATUS_H_
#define SERVER_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace papr::server {

inline constexpr char kErrorDetailKey[] = "papr-error-bin";

// The status to finish with; adds the trailing metadata to `context` if `status` carries a detail.
// Call it before the RPC finishes, from one thread.
grpc::Status ToGrpcStatus(grpc::ServerContextBase* context, const absl::Status& status);

}  // namespace papr::server

#endif  // SERVER_GRPC_STATUS_H_
