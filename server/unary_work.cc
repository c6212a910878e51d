#include "server/unary_work.h"

#include <utility>

#include "server/errors.h"
#include "server/grpc_status.h"

namespace papr::server {

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(context, status));
  return reactor;
}

grpc::ServerUnaryReactor* FinishOnWorker(grpc::CallbackServerContext* context, WorkerPool& workers,
                                         std::function<absl::Status()> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool submitted = workers.Submit([context, reactor, work = std::move(work)] {
    const absl::Status status =
        context->IsCancelled() ? absl::CancelledError("the caller has gone away") : work();
    reactor->Finish(ToGrpcStatus(context, status));
  });
  if (!submitted) {
    reactor->Finish(ToGrpcStatus(context, LimitError("max_queued_operations", workers.max_queued(),
                                                     "too many long operations wait")));
  }
  return reactor;
}

}  // namespace papr::server
