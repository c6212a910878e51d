// One PartitionService.ImportHpt: records stored in a partition's table as they come.

#ifndef SERVER_IMPORT_STREAM_H_
#define SERVER_IMPORT_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/drain_state.h"
#include "server/partition_registry.h"
#include "server/worker_pool.h"

namespace papr::server {

// Its records are stored on `pool`; `response` gets the ImportHptResponse. For use on a gRPC
// thread.
grpc::ServerReadReactor<grpc::ByteBuffer>* StartImportStream(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response,
    std::shared_ptr<PartitionRegistry> registry, WorkerPool& pool, DrainState& drain);

}  // namespace papr::server

#endif  // SERVER_IMPORT_STREAM_H_
