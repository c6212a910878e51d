// One PartitionService.ExportHpt: an export of a partition's table, read by read.

#ifndef SERVER_EXPORT_STREAM_H_
#define SERVER_EXPORT_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/drain_state.h"
#include "server/partition_registry.h"
#include "server/worker_pool.h"

namespace papr::server {

// Its reads run on `pool`. For use on a gRPC thread.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartExportStream(
    grpc::CallbackServerContext* context, std::shared_ptr<PartitionRegistry> registry,
    WorkerPool& pool, DrainState& drain);

}  // namespace papr::server

#endif  // SERVER_EXPORT_STREAM_H_
