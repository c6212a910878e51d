// Finishing a unary RPC of the callback API from a worker thread.

#ifndef SERVER_UNARY_WORK_H_
#define SERVER_UNARY_WORK_H_

#include <grpcpp/grpcpp.h>

#include <functional>

#include "absl/status/status.h"
#include "server/worker_pool.h"

namespace papr::server {

// Finishes the RPC of `context` at once and returns its reactor. For use on a gRPC thread.
grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status);

// Runs `work` on a worker thread and finishes the RPC with what it returns; the request and
// response stay good until then. If the caller has gone away meanwhile the work is not begun.
// RESOURCE_EXHAUSTED at once if too much waits already.
grpc::ServerUnaryReactor* FinishOnWorker(grpc::CallbackServerContext* context, WorkerPool& workers,
                                         std::function<absl::Status()> work);

}  // namespace papr::server

#endif  // SERVER_UNARY_WORK_H_
