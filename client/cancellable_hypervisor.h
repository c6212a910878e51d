// Passes hcalls on to another hypervisor until it is told to stop. For one thread.

#ifndef CLIENT_CANCELLABLE_HYPERVISOR_H_
#define CLIENT_CANCELLABLE_HYPERVISOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "client/hypervisor.h"

namespace papr::client {

class CancellableHypervisor : public Hypervisor {
 public:
  // `cancelled` is asked before each message; may be empty.
  CancellableHypervisor(std::unique_ptr<Hypervisor> inner, std::function<bool()> cancelled)
      : inner_(std::move(inner)), cancelled_(std::move(cancelled)) {}

  // CANCELLED, and nothing is sent, once it is cancelled; else as the inner one.
  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override {
    if (cancelled_ && cancelled_()) return Cancelled();
    return inner_->Hcall(request);
  }
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override {
    if (cancelled_ && cancelled_()) return Cancelled();
    return inner_->HcallBatch(requests, mode, results);
  }
  uint64_t round_trips() const override { return inner_->round_trips(); }

 private:
  static absl::Status Cancelled() { return absl::CancelledError("interrupted"); }

  const std::unique_ptr<Hypervisor> inner_;
  const std::function<bool()> cancelled_;
};

}  // namespace papr::client

#endif  // CLIENT_CANCELLABLE_HYPERVISOR_H_
