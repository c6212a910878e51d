#include "server/hcall_runner.h"

#include <chrono>

namespace papr::server {
namespace {

// Neighbours of one kind and outcome are counted with one addition.
void Count(ServedPartition& served, std::span<const hcall::HcallRequest> requests,
           std::span<const hcall::HcallResult> results) {
  size_t i = 0;
  while (i < results.size()) {
    const uint64_t opcode = requests[i].opcode;
    const int64_t return_code = results[i].return_code;
    size_t end = i + 1;
    while (end < results.size() && requests[end].opcode == opcode &&
           results[end].return_code == return_code) {
      ++end;
    }
    served.cells->CountHcalls(hcall::HcallKind(*served.partition, opcode), OutcomeOf(return_code),
                              end - i);
    i = end;
  }
}

}  // namespace

bool HcallRunner::MayTakeLong(uint64_t opcode) {
  return opcode == hcall::kHResizeHptPrepare || opcode == hcall::kHResizeHptCommit ||
         opcode == hcall::kHClearHpt;
}

hcall::HcallResult HcallRunner::RunTimed(ServedPartition& served,
                                         const hcall::HcallRequest& request) const {
  const auto start = std::chrono::steady_clock::now();
  const hcall::HcallResult result = hcall::Dispatch(*served.partition, request);
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
  metrics_->ObserveDuration(hcall::HcallKind(*served.partition, request.opcode),
                            static_cast<uint64_t>(elapsed.count()));
  return result;
}

hcall::HcallResult HcallRunner::Run(ServedPartition& served, const hcall::HcallRequest& request,
                                    HcallRpc rpc) const {
  const hcall::HcallResult result = HcallMetrics::SampleNow()
                                        ? RunTimed(served, request)
                                        : hcall::Dispatch(*served.partition, request);
  served.cells->CountRoundTrip(rpc);
  Count(served, {&request, 1}, {&result, 1});
  return result;
}

// Takes the one in the middle out of the batch to time it, so that what is seen is one hcall's.
size_t HcallRunner::RunBatchTimed(ServedPartition& served,
                                  std::span<const hcall::HcallRequest> requests,
                                  hcall::BatchMode mode,
                                  std::span<hcall::HcallResult> results) const {
  const bool stops = mode == hcall::BatchMode::kStopAtFirstError;
  const size_t timed = requests.size() / 2;
  const size_t before =
      hcall::DispatchBatch(*served.partition, requests.first(timed), mode, results);
  if (before < timed ||
      (stops && before > 0 && results[before - 1].return_code != hcall::kHSuccess)) {
    return before;
  }
  results[timed] = RunTimed(served, requests[timed]);
  if (stops && results[timed].return_code != hcall::kHSuccess) return timed + 1;
  return timed + 1 +
         hcall::DispatchBatch(*served.partition, requests.subspan(timed + 1), mode,
                              results.subspan(timed + 1));
}

size_t HcallRunner::RunBatch(ServedPartition& served, std::span<const hcall::HcallRequest> requests,
                             hcall::BatchMode mode, std::span<hcall::HcallResult> results,
                             HcallRpc rpc) const {
  const size_t ran = !requests.empty() && HcallMetrics::SampleNow()
                         ? RunBatchTimed(served, requests, mode, results)
                         : hcall::DispatchBatch(*served.partition, requests, mode, results);
  served.cells->CountRoundTrip(rpc);
  metrics_->ObserveFrame(requests.size());
  Count(served, requests.first(ran), results.first(ran));
  return ran;
}

}  // namespace papr::server
