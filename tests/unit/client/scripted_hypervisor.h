// A hypervisor for tests: records what it is asked and answers from a function.

#ifndef TESTS_UNIT_CLIENT_SCRIPTED_HYPERVISOR_H_
#define TESTS_UNIT_CLIENT_SCRIPTED_HYPERVISOR_H_

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "client/hypervisor.h"

namespace papr::client {

class ScriptedHypervisor : public Hypervisor {
 public:
  using Answer = std::function<hcall::HcallResult(const hcall::HcallRequest&)>;

  explicit ScriptedHypervisor(Answer answer) : answer_(std::move(answer)) {}

  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override {
    ++round_trips_;
    requests.push_back(request);
    return answer_(request);
  }
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> batch, hcall::BatchMode,
                          std::vector<hcall::HcallResult>* results) override {
    ++round_trips_;
    results->clear();
    for (const hcall::HcallRequest& request : batch) {
      requests.push_back(request);
      results->push_back(answer_(request));
    }
    return absl::OkStatus();
  }
  uint64_t round_trips() const override { return round_trips_; }

  std::vector<hcall::HcallRequest> requests;

 private:
  Answer answer_;
  uint64_t round_trips_ = 0;
};

// A result with nothing but a return code.
inline hcall::HcallResult Returns(int64_t code) {
  hcall::HcallResult result;
  result.return_code = code;
  return result;
}

}  // namespace papr::client

#endif  // TESTS_UNIT_CLIENT_SCRIPTED_HYPERVISOR_H_
