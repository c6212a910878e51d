#include "server/hcall_service.h"

#include <algorithm>
#include <vector>

#include "server/errors.h"
#include "server/hcall_codec.h"
#include "server/typed_hcalls.h"
#include "server/unary_work.h"

namespace papr::server {

namespace v1 = mmu::v1;

HcallServiceImpl::Reactor* HcallServiceImpl::Hcall(Context* context,
                                                   const v1::HcallRequest* request,
                                                   v1::HcallResponse* response) {
  if (absl::Status s = CheckHcall(*request); !s.ok()) return FinishNow(context, s);
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  hcall::HcallRequest call;
  DecodeHcall(request->hcall(), call);
  if (HcallRunner::MayTakeLong(call.opcode)) {
    return FinishOnWorker(context, *workers_, [this, served, call, response] {
      EncodeResult(runner_.Run(*served, call, HcallRpc::kHcall), *response->mutable_result());
      return absl::OkStatus();
    });
  }
  EncodeResult(runner_.Run(*served, call, HcallRpc::kHcall), *response->mutable_result());
  return FinishNow(context, absl::OkStatus());
}

void HcallServiceImpl::RunBatch(ServedPartition& served, const v1::HcallBatchRequest& request,
                                v1::HcallBatchResponse* response) const {
  // Kept from batch to batch; at most max_batch_hcalls long.
  thread_local std::vector<hcall::HcallRequest> calls;
  thread_local std::vector<hcall::HcallResult> results;
  const auto count = static_cast<size_t>(request.hcalls_size());
  if (calls.size() < count) {
    calls.resize(count);
    results.resize(count);
  }
  for (size_t i = 0; i < count; ++i) DecodeHcall(request.hcalls(static_cast<int>(i)), calls[i]);
  const auto mode =
      request.stop_on_failure() ? hcall::BatchMode::kStopAtFirstError : hcall::BatchMode::kAll;
  const size_t ran = runner_.RunBatch(served, std::span(calls).first(count), mode,
                                      std::span(results).first(count), HcallRpc::kHcallBatch);
  response->mutable_results()->Reserve(static_cast<int>(ran));
  for (size_t i = 0; i < ran; ++i) EncodeResult(results[i], *response->add_results());
}

HcallServiceImpl::Reactor* HcallServiceImpl::HcallBatch(Context* context,
                                                        const v1::HcallBatchRequest* request,
                                                        v1::HcallBatchResponse* response) {
  if (absl::Status s = CheckBatch(*request, max_batch_hcalls_); !s.ok()) {
    return FinishNow(context, s);
  }
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  const auto& hcalls = request->hcalls();
  if (std::any_of(hcalls.begin(), hcalls.end(),
                  [](const v1::Hcall& call) { return HcallRunner::MayTakeLong(call.opcode()); })) {
    return FinishOnWorker(context, *workers_, [this, served, request, response] {
      RunBatch(*served, *request, response);
      return absl::OkStatus();
    });
  }
  RunBatch(*served, *request, response);
  return FinishNow(context, absl::OkStatus());
}

template <typename Request, typename Response>
HcallServiceImpl::Reactor* HcallServiceImpl::Typed(Context* context, const Request* request,
                                                   Response* response, HcallRpc rpc) {
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  const HcallOr call = ToHcall(*request, served->partition->config());
  if (!call.ok()) return FinishNow(context, call.status());
  if (HcallRunner::MayTakeLong(call->opcode)) {
    return FinishOnWorker(context, *workers_, [this, served, call = *call, response, rpc] {
      FromResult(runner_.Run(*served, call, rpc), response);
      return absl::OkStatus();
    });
  }
  FromResult(runner_.Run(*served, *call, rpc), response);
  return FinishNow(context, absl::OkStatus());
}

}  // namespace papr::server
