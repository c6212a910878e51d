// HcallService: the typed RPCs, the register form and batches. Each decodes into registers, runs,
// and encodes what comes back, on gRPC's thread, but for the calls that may take long.
//
// Threads: gRPC's, any number at once.

#ifndef SERVER_HCALL_SERVICE_H_
#define SERVER_HCALL_SERVICE_H_

#include <memory>

#include "papr/mmu/v1/hcall.grpc.pb.h"
#include "server/drain_state.h"
#include "server/hcall_runner.h"
#include "server/partition_registry.h"
#include "server/worker_pool.h"

namespace papr::server {

class HcallServiceImpl final : public mmu::v1::HcallService::CallbackService {
 public:
  HcallServiceImpl(std::shared_ptr<PartitionRegistry> registry,
                   std::shared_ptr<HcallMetrics> metrics, std::shared_ptr<WorkerPool> workers,
                   std::shared_ptr<DrainState> drain, uint64_t max_batch_hcalls)
      : registry_(std::move(registry)),
        runner_(std::move(metrics)),
        workers_(std::move(workers)),
        drain_(std::move(drain)),
        max_batch_hcalls_(max_batch_hcalls) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* Hcall(Context* context, const mmu::v1::HcallRequest* request,
                 mmu::v1::HcallResponse* response) override;
  Reactor* HcallBatch(Context* context, const mmu::v1::HcallBatchRequest* request,
                      mmu::v1::HcallBatchResponse* response) override;

  Reactor* Enter(Context* context, const mmu::v1::EnterRequest* request,
                 mmu::v1::EnterResponse* response) override;
  Reactor* Read(Context* context, const mmu::v1::ReadRequest* request,
                mmu::v1::ReadResponse* response) override;
  Reactor* Remove(Context* context, const mmu::v1::RemoveRequest* request,
                  mmu::v1::RemoveResponse* response) override;
  Reactor* Protect(Context* context, const mmu::v1::ProtectRequest* request,
                   mmu::v1::ProtectResponse* response) override;
  Reactor* ClearReference(Context* context, const mmu::v1::ClearReferenceRequest* request,
                          mmu::v1::ClearReferenceResponse* response) override;
  Reactor* ClearModify(Context* context, const mmu::v1::ClearModifyRequest* request,
                       mmu::v1::ClearModifyResponse* response) override;
  Reactor* BulkRemove(Context* context, const mmu::v1::BulkRemoveRequest* request,
                      mmu::v1::BulkRemoveResponse* response) override;
  Reactor* BlockRemove(Context* context, const mmu::v1::BlockRemoveRequest* request,
                       mmu::v1::BlockRemoveResponse* response) override;
  Reactor* HashRemove(Context* context, const mmu::v1::HashRemoveRequest* request,
                      mmu::v1::HashRemoveResponse* response) override;
  Reactor* HashProtect(Context* context, const mmu::v1::HashProtectRequest* request,
                       mmu::v1::HashProtectResponse* response) override;
  Reactor* HashBulkRemove(Context* context, const mmu::v1::HashBulkRemoveRequest* request,
                          mmu::v1::HashBulkRemoveResponse* response) override;
  Reactor* ResizeHptPrepare(Context* context, const mmu::v1::ResizeHptPrepareRequest* request,
                            mmu::v1::ResizeHptPrepareResponse* response) override;
  Reactor* ResizeHptCommit(Context* context, const mmu::v1::ResizeHptCommitRequest* request,
                           mmu::v1::ResizeHptCommitResponse* response) override;
  Reactor* PageInit(Context* context, const mmu::v1::PageInitRequest* request,
                    mmu::v1::PageInitResponse* response) override;
  Reactor* ClearHpt(Context* context, const mmu::v1::ClearHptRequest* request,
                    mmu::v1::ClearHptResponse* response) override;

 private:
  template <typename Work>
  Reactor* RunOrQueue(Context* context, const std::shared_ptr<ServedPartition>& served,
                      bool takes_long, Work work);
  // Any typed RPC. The overloads of typed_hcalls.h know the rest.
  template <typename Request, typename Response>
  Reactor* Typed(Context* context, const Request* request, Response* response, HcallRpc rpc);
  void RunBatch(ServedPartition& served, const mmu::v1::HcallBatchRequest& request,
                mmu::v1::HcallBatchResponse* response) const;

  const std::shared_ptr<PartitionRegistry> registry_;
  const HcallRunner runner_;
  const std::shared_ptr<WorkerPool> workers_;
  const std::shared_ptr<DrainState> drain_;
  const uint64_t max_batch_hcalls_;
};

}  // namespace papr::server

#endif  // SERVER_HCALL_SERVICE_H_
