// PartitionService: partitions for operators. What makes or frees tables runs on worker threads,
// what scans them on threads of its own, and the rest at once.
//
// Threads: gRPC's, any number at once.

#ifndef SERVER_PARTITION_SERVICE_H_
#define SERVER_PARTITION_SERVICE_H_

#include <memory>

#include "papr/mmu/v1/partition.grpc.pb.h"
#include "server/drain_state.h"
#include "server/partition_registry.h"
#include "server/worker_pool.h"

namespace papr::server {

class PartitionServiceImpl final : public mmu::v1::PartitionService::CallbackService {
 public:
  PartitionServiceImpl(std::shared_ptr<PartitionRegistry> registry,
                       std::shared_ptr<WorkerPool> workers, std::shared_ptr<WorkerPool> scanners,
                       std::shared_ptr<DrainState> drain)
      : registry_(std::move(registry)),
        workers_(std::move(workers)),
        scanners_(std::move(scanners)),
        drain_(std::move(drain)) {
    ServeStreams();
  }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* CreatePartition(Context* context, const mmu::v1::CreatePartitionRequest* request,
                           mmu::v1::CreatePartitionResponse* response) override;
  Reactor* GetPartition(Context* context, const mmu::v1::GetPartitionRequest* request,
                        mmu::v1::GetPartitionResponse* response) override;
  Reactor* ListPartitions(Context* context, const mmu::v1::ListPartitionsRequest* request,
                          mmu::v1::ListPartitionsResponse* response) override;
  Reactor* ResetPartition(Context* context, const mmu::v1::ResetPartitionRequest* request,
                          mmu::v1::ResetPartitionResponse* response) override;
  Reactor* DeletePartition(Context* context, const mmu::v1::DeletePartitionRequest* request,
                           mmu::v1::DeletePartitionResponse* response) override;
  Reactor* FinishResizePreparation(Context* context,
                                   const mmu::v1::FinishResizePreparationRequest* request,
                                   mmu::v1::FinishResizePreparationResponse* response) override;
  Reactor* GetHptStatistics(Context* context, const mmu::v1::GetHptStatisticsRequest* request,
                            mmu::v1::GetHptStatisticsResponse* response) override;
  Reactor* CheckHpt(Context* context, const mmu::v1::CheckHptRequest* request,
                    mmu::v1::CheckHptResponse* response) override;
  Reactor* GetDirtyPages(Context* context, const mmu::v1::GetDirtyPagesRequest* request,
                         mmu::v1::GetDirtyPagesResponse* response) override;
  Reactor* ListMappings(Context* context, const mmu::v1::ListMappingsRequest* request,
                        mmu::v1::ListMappingsResponse* response) override;
  Reactor* HarvestReferenceChange(Context* context,
                                  const mmu::v1::HarvestReferenceChangeRequest* request,
                                  mmu::v1::HarvestReferenceChangeResponse* response) override;
  Reactor* RemoveMappings(Context* context, const mmu::v1::RemoveMappingsRequest* request,
                          mmu::v1::RemoveMappingsResponse* response) override;

 private:
  // ExportHpt and ImportHpt, which take their messages undecoded (server/raw_message.h).
  void ServeStreams();

  // Run `method` of this service with the request and the response: Now() on this thread, On() on
  // one of `pool`.
  template <typename Request, typename Response>
  Reactor* Now(Context* context, const Request* request, Response* response,
               absl::Status (PartitionServiceImpl::*method)(const Request&, Response*));
  template <typename Request, typename Response>
  Reactor* On(WorkerPool& pool, Context* context, const Request* request, Response* response,
              absl::Status (PartitionServiceImpl::*method)(const Request&, Response*));
  // Runs `call` with the partition that the request names, on a scanning thread.
  template <typename Request, typename Response>
  Reactor* OnPartition(Context* context, const Request* request, Response* response,
                       absl::Status (*call)(hcall::Partition&, const Request&, Response*));

  absl::Status Create(const mmu::v1::CreatePartitionRequest& request,
                      mmu::v1::CreatePartitionResponse* response);
  absl::Status Get(const mmu::v1::GetPartitionRequest& request,
                   mmu::v1::GetPartitionResponse* response);
  absl::Status List(const mmu::v1::ListPartitionsRequest& request,
                    mmu::v1::ListPartitionsResponse* response);
  absl::Status Reset(const mmu::v1::ResetPartitionRequest& request,
                     mmu::v1::ResetPartitionResponse* response);
  absl::Status Delete(const mmu::v1::DeletePartitionRequest& request,
                      mmu::v1::DeletePartitionResponse* response);
  absl::Status FinishPreparation(const mmu::v1::FinishResizePreparationRequest& request,
                                 mmu::v1::FinishResizePreparationResponse* response);
  absl::Status GetStatistics(const mmu::v1::GetHptStatisticsRequest& request,
                             mmu::v1::GetHptStatisticsResponse* response);
  absl::Status Check(const mmu::v1::CheckHptRequest& request, mmu::v1::CheckHptResponse* response);

  const std::shared_ptr<PartitionRegistry> registry_;
  const std::shared_ptr<WorkerPool> workers_;
  const std::shared_ptr<WorkerPool> scanners_;
  const std::shared_ptr<DrainState> drain_;
};

}  // namespace papr::server

#endif  // SERVER_PARTITION_SERVICE_H_
