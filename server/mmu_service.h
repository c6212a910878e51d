// MmuService: what simulated processors do to the page table.
//
// Threads: gRPC's, any number at once.

#ifndef SERVER_MMU_SERVICE_H_
#define SERVER_MMU_SERVICE_H_

#include <memory>

#include "papr/mmu/v1/mmu.grpc.pb.h"
#include "server/drain_state.h"
#include "server/partition_registry.h"
#include "server/worker_pool.h"

namespace papr::server {

class MmuServiceImpl final : public mmu::v1::MmuService::CallbackService {
 public:
  // `max_updates`: of one SetReferenceChange, the limit --max_batch_hcalls.
  MmuServiceImpl(std::shared_ptr<PartitionRegistry> registry, std::shared_ptr<WorkerPool> workers,
                 std::shared_ptr<DrainState> drain, uint64_t max_updates)
      : registry_(std::move(registry)),
        workers_(std::move(workers)),
        drain_(std::move(drain)),
        max_updates_(max_updates) {}

  grpc::ServerUnaryReactor* SetReferenceChange(
      grpc::CallbackServerContext* context, const mmu::v1::SetReferenceChangeRequest* request,
      mmu::v1::SetReferenceChangeResponse* response) override;

 private:
  const std::shared_ptr<PartitionRegistry> registry_;
  const std::shared_ptr<WorkerPool> workers_;
  const std::shared_ptr<DrainState> drain_;
  const uint64_t max_updates_;
};

}  // namespace papr::server

#endif  // SERVER_MMU_SERVICE_H_
