// Counts the hcalls that pass through to another hypervisor, by opcode. For one thread.

#ifndef CLIENT_COUNTING_HYPERVISOR_H_
#define CLIENT_COUNTING_HYPERVISOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "client/hypervisor.h"

namespace papr::client {

using HcallCounts = std::map<uint64_t, uint64_t>;  // opcode -> hcalls

class CountingHypervisor : public Hypervisor {
 public:
  explicit CountingHypervisor(std::unique_ptr<Hypervisor> inner) : inner_(std::move(inner)) {}

  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override {
    ++counts_[request.opcode];
    return inner_->Hcall(request);
  }
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override {
    const absl::Status status = inner_->HcallBatch(requests, mode, results);
    if (status.ok()) {
      for (const auto& request : requests.first(results->size())) ++counts_[request.opcode];
    }
    return status;
  }
  uint64_t round_trips() const override { return inner_->round_trips(); }

  // Hcalls so far.
  const HcallCounts& counts() const { return counts_; }

 private:
  const std::unique_ptr<Hypervisor> inner_;
  HcallCounts counts_;
};

}  // namespace papr::client

#endif  // CLIENT_COUNTING_HYPERVISOR_H_
