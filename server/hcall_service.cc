#include "server/hcall_service.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "server/errors.h"
#include "server/hcall_codec.h"
#include "server/typed_hcalls.h"
#include "server/unary_work.h"

namespace papr::server {

namespace v1 = mmu::v1;

// Runs `work` on this thread, or, if it may take long or has to wait for what does, on a worker.
template <typename Work>
HcallServiceImpl::Reactor* HcallServiceImpl::RunOrQueue(
    Context* context, const std::shared_ptr<ServedPartition>& served, bool takes_long, Work work) {
  if (takes_long || HcallRunner::MustWait(*served)) {
    return FinishOnWorker(context, *workers_, [served, takes_long, work] {
      std::optional<ExclusiveOperation> exclusive;
      if (takes_long) exclusive.emplace(*served);
      work();
      return absl::OkStatus();
    });
  }
  work();
  return FinishNow(context, absl::OkStatus());
}

HcallServiceImpl::Reactor* HcallServiceImpl::Hcall(Context* context,
                                                   const v1::HcallRequest* request,
                                                   v1::HcallResponse* response) {
  if (drain_->draining()) return drain_->Refuse(context);
  if (absl::Status s = CheckHcall(*request); !s.ok()) return FinishNow(context, s);
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  hcall::HcallRequest call;
  DecodeHcall(request->hcall(), call);
  return RunOrQueue(context, served, HcallRunner::MayTakeLong(call.opcode),
                    [this, partition = served.get(), call, response] {
                      EncodeResult(runner_.Run(*partition, call, HcallRpc::kHcall),
                                   *response->mutable_result());
                    });
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
  if (drain_->draining()) return drain_->Refuse(context);
  if (absl::Status s = CheckBatch(*request, max_batch_hcalls_); !s.ok()) {
    return FinishNow(context, s);
  }
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  const auto& hcalls = request->hcalls();
  const bool takes_long = std::any_of(hcalls.begin(), hcalls.end(), [](const v1::Hcall& call) {
    return HcallRunner::MayTakeLong(call.opcode());
  });
  return RunOrQueue(context, served, takes_long,
                    [this, partition = served.get(), request, response] {
                      RunBatch(*partition, *request, response);
                    });
}

template <typename Request, typename Response>
HcallServiceImpl::Reactor* HcallServiceImpl::Typed(Context* context, const Request* request,
                                                   Response* response, HcallRpc rpc) {
  if (drain_->draining()) return drain_->Refuse(context);
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  const HcallOr call = ToHcall(*request, served->partition->config());
  if (!call.ok()) return FinishNow(context, call.status());
  return RunOrQueue(context, served, HcallRunner::MayTakeLong(call->opcode),
                    [this, partition = served.get(), call = *call, response, rpc] {
                      FromResult(runner_.Run(*partition, call, rpc), response);
                    });
}

HcallServiceImpl::Reactor* HcallServiceImpl::Enter(Context* context,
                                                   const v1::EnterRequest* request,
                                                   v1::EnterResponse* response) {
  return Typed(context, request, response, HcallRpc::kEnter);
}
HcallServiceImpl::Reactor* HcallServiceImpl::Read(Context* context, const v1::ReadRequest* request,
                                                  v1::ReadResponse* response) {
  return Typed(context, request, response, HcallRpc::kRead);
}
HcallServiceImpl::Reactor* HcallServiceImpl::Remove(Context* context,
                                                    const v1::RemoveRequest* request,
                                                    v1::RemoveResponse* response) {
  return Typed(context, request, response, HcallRpc::kRemove);
}
HcallServiceImpl::Reactor* HcallServiceImpl::Protect(Context* context,
                                                     const v1::ProtectRequest* request,
                                                     v1::ProtectResponse* response) {
  return Typed(context, request, response, HcallRpc::kProtect);
}
HcallServiceImpl::Reactor* HcallServiceImpl::ClearReference(
    Context* context, const v1::ClearReferenceRequest* request,
    v1::ClearReferenceResponse* response) {
  return Typed(context, request, response, HcallRpc::kClearReference);
}
HcallServiceImpl::Reactor* HcallServiceImpl::ClearModify(Context* context,
                                                         const v1::ClearModifyRequest* request,
                                                         v1::ClearModifyResponse* response) {
  return Typed(context, request, response, HcallRpc::kClearModify);
}
HcallServiceImpl::Reactor* HcallServiceImpl::BulkRemove(Context* context,
                                                        const v1::BulkRemoveRequest* request,
                                                        v1::BulkRemoveResponse* response) {
  return Typed(context, request, response, HcallRpc::kBulkRemove);
}
HcallServiceImpl::Reactor* HcallServiceImpl::BlockRemove(Context* context,
                                                         const v1::BlockRemoveRequest* request,
                                                         v1::BlockRemoveResponse* response) {
  return Typed(context, request, response, HcallRpc::kBlockRemove);
}
HcallServiceImpl::Reactor* HcallServiceImpl::HashRemove(Context* context,
                                                        const v1::HashRemoveRequest* request,
                                                        v1::HashRemoveResponse* response) {
  return Typed(context, request, response, HcallRpc::kHashRemove);
}
HcallServiceImpl::Reactor* HcallServiceImpl::HashProtect(Context* context,
                                                         const v1::HashProtectRequest* request,
                                                         v1::HashProtectResponse* response) {
  return Typed(context, request, response, HcallRpc::kHashProtect);
}
HcallServiceImpl::Reactor* HcallServiceImpl::HashBulkRemove(
    Context* context, const v1::HashBulkRemoveRequest* request,
    v1::HashBulkRemoveResponse* response) {
  return Typed(context, request, response, HcallRpc::kHashBulkRemove);
}
HcallServiceImpl::Reactor* HcallServiceImpl::ResizeHptPrepare(
    Context* context, const v1::ResizeHptPrepareRequest* request,
    v1::ResizeHptPrepareResponse* response) {
  return Typed(context, request, response, HcallRpc::kResizeHptPrepare);
}
HcallServiceImpl::Reactor* HcallServiceImpl::ResizeHptCommit(
    Context* context, const v1::ResizeHptCommitRequest* request,
    v1::ResizeHptCommitResponse* response) {
  return Typed(context, request, response, HcallRpc::kResizeHptCommit);
}
HcallServiceImpl::Reactor* HcallServiceImpl::PageInit(Context* context,
                                                      const v1::PageInitRequest* request,
                                                      v1::PageInitResponse* response) {
  return Typed(context, request, response, HcallRpc::kPageInit);
}
HcallServiceImpl::Reactor* HcallServiceImpl::ClearHpt(Context* context,
                                                      const v1::ClearHptRequest* request,
                                                      v1::ClearHptResponse* response) {
  return Typed(context, request, response, HcallRpc::kClearHpt);
}

}  // namespace papr::server
