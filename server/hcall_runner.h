// Runs hcalls on a served partition and counts them: what every way of issuing an hcall goes
// through.
//
// Threads: any at once. No lock, no allocation, no formatting.

#ifndef SERVER_HCALL_RUNNER_H_
#define SERVER_HCALL_RUNNER_H_

#include <cstddef>
#include <memory>
#include <span>

#include "hcall/dispatch.h"
#include "server/hcall_metrics.h"
#include "server/partition_registry.h"

namespace papr::server {

class HcallRunner {
 public:
  explicit HcallRunner(std::shared_ptr<HcallMetrics> metrics) : metrics_(std::move(metrics)) {}

  // True for the calls that may scan, build or free a table, or wait for one to be built. They must
  // not run on a gRPC thread.
  static bool MayTakeLong(uint64_t opcode);
  // True while every hcall of the partition has to wait, and should not on a gRPC thread.
  static bool MustWait(const ServedPartition& served) {
    return served.exclusive_operations.load(std::memory_order_relaxed) != 0;
  }

  // Runs one hcall that came by itself, as `rpc`.
  hcall::HcallResult Run(ServedPartition& served, const hcall::HcallRequest& request,
                         HcallRpc rpc) const;

  // Runs a list that came as one `rpc`; results must be as long. Returns how many ran.
  size_t RunBatch(ServedPartition& served, std::span<const hcall::HcallRequest> requests,
                  hcall::BatchMode mode, std::span<hcall::HcallResult> results, HcallRpc rpc) const;

 private:
  hcall::HcallResult RunTimed(ServedPartition& served, const hcall::HcallRequest& request) const;
  size_t RunBatchTimed(ServedPartition& served, std::span<const hcall::HcallRequest> requests,
                       hcall::BatchMode mode, std::span<hcall::HcallResult> results) const;

  const std::shared_ptr<HcallMetrics> metrics_;
};

}  // namespace papr::server

#endif  // SERVER_HCALL_RUNNER_H_
