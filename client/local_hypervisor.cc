#include "client/local_hypervisor.h"

#include "hcall/dispatch.h"

namespace papr::client {

absl::StatusOr<hcall::HcallResult> LocalHypervisor::Hcall(const hcall::HcallRequest& request) {
  return hcall::Dispatch(*partition_, request);
}

absl::Status LocalHypervisor::HcallBatch(std::span<const hcall::HcallRequest> requests,
                                         hcall::BatchMode mode,
                                         std::vector<hcall::HcallResult>* results) {
  results->resize(requests.size());
  results->resize(hcall::DispatchBatch(*partition_, requests, mode, *results));
  return absl::OkStatus();
}

}  // namespace papr::client
