// A hypervisor in this process: an hcall is a function call.

#ifndef CLIENT_LOCAL_HYPERVISOR_H_
#define CLIENT_LOCAL_HYPERVISOR_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/hypervisor.h"
#include "hcall/partition.h"

namespace papr::client {

class LocalHypervisor : public Hypervisor {
 public:
  // `partition` must outlive this.
  explicit LocalHypervisor(hcall::Partition* partition) : partition_(partition) {}

  // Neither fails.
  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override;
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override;
  uint64_t round_trips() const override { return 0; }

 private:
  hcall::Partition* const partition_;
};

}  // namespace papr::client

#endif  // CLIENT_LOCAL_HYPERVISOR_H_
