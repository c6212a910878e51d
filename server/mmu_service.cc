#include "server/mmu_service.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/errors.h"
#include "server/hcall_runner.h"
#include "server/unary_work.h"

namespace papr::server {
namespace {

absl::Status Apply(ServedPartition& served, const mmu::v1::SetReferenceChangeRequest& request) {
  // Kept from call to call; at most max_batch_hcalls long.
  thread_local std::vector<hcall::ReferenceChange> updates;
  updates.clear();
  for (const mmu::v1::ReferenceChange& update : request.updates()) {
    updates.push_back({update.ptex(), update.referenced(), update.changed()});
  }
  size_t applied = 0;
  const absl::Status status = served.partition->SetReferenceChange(updates, &applied);
  return status.ok() ? status : WithField(status, absl::StrCat("updates[", applied, "]"));
}

}  // namespace

grpc::ServerUnaryReactor* MmuServiceImpl::SetReferenceChange(
    grpc::CallbackServerContext* context, const mmu::v1::SetReferenceChangeRequest* request,
    mmu::v1::SetReferenceChangeResponse*) {
  if (drain_->draining()) return drain_->Refuse(context);
  const auto count = static_cast<size_t>(request->updates_size());
  if (count > max_updates_) {
    return FinishNow(context, LimitError("max_batch_hcalls", max_updates_,
                                         absl::StrCat("updates: ", count, " of them")));
  }
  const std::shared_ptr<ServedPartition> served = registry_->Find(request->partition());
  if (served == nullptr) return FinishNow(context, NoSuchPartition(request->partition()));
  if (HcallRunner::MustWait(*served)) {
    return FinishOnWorker(context, *workers_,
                          [served, request] { return Apply(*served, *request); });
  }
  return FinishNow(context, Apply(*served, *request));
}

}  // namespace papr::server
