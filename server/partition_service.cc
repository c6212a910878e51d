#include "server/partition_service.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/bounded_count.h"
#include "server/config_from_proto.h"
#include "server/errors.h"
#include "server/export_stream.h"
#include "server/guest_page_calls.h"
#include "server/import_stream.h"
#include "server/limits.h"
#include "server/page_token.h"
#include "server/proto_from_config.h"
#include "server/unary_work.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

absl::Status CheckOrder(uint32_t order) {
  if (order >= mmu::kMinHptOrder && order <= mmu::kMaxHptOrder) return absl::OkStatus();
  return FieldError(
      "order", absl::StrCat(order, " is outside ", mmu::kMinHptOrder, "..", mmu::kMaxHptOrder));
}

}  // namespace

template <typename Request, typename Response>
PartitionServiceImpl::Reactor* PartitionServiceImpl::Now(
    Context* context, const Request* request, Response* response,
    absl::Status (PartitionServiceImpl::*method)(const Request&, Response*)) {
  if (drain_->draining()) return drain_->Refuse(context);
  return FinishNow(context, (this->*method)(*request, response));
}

template <typename Request, typename Response>
PartitionServiceImpl::Reactor* PartitionServiceImpl::On(
    WorkerPool& pool, Context* context, const Request* request, Response* response,
    absl::Status (PartitionServiceImpl::*method)(const Request&, Response*)) {
  if (drain_->draining()) return drain_->Refuse(context);
  return FinishOnWorker(context, pool, [this, request, response, method] {
    return (this->*method)(*request, response);
  });
}

template <typename Request, typename Response>
PartitionServiceImpl::Reactor* PartitionServiceImpl::OnPartition(
    Context* context, const Request* request, Response* response,
    absl::Status (*call)(hcall::Partition&, const Request&, Response*)) {
  if (drain_->draining()) return drain_->Refuse(context);
  return FinishOnWorker(context, *scanners_, [this, request, response, call] {
    const auto served = registry_->Find(request->name());
    if (served == nullptr) return NoSuchPartition(request->name());
    return call(*served->partition, *request, response);
  });
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::CreatePartition(
    Context* context, const v1::CreatePartitionRequest* request,
    v1::CreatePartitionResponse* response) {
  return On(*workers_, context, request, response, &PartitionServiceImpl::Create);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::GetPartition(
    Context* context, const v1::GetPartitionRequest* request, v1::GetPartitionResponse* response) {
  return Now(context, request, response, &PartitionServiceImpl::Get);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::ListPartitions(
    Context* context, const v1::ListPartitionsRequest* request,
    v1::ListPartitionsResponse* response) {
  return Now(context, request, response, &PartitionServiceImpl::List);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::ResetPartition(
    Context* context, const v1::ResetPartitionRequest* request,
    v1::ResetPartitionResponse* response) {
  return On(*workers_, context, request, response, &PartitionServiceImpl::Reset);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::DeletePartition(
    Context* context, const v1::DeletePartitionRequest* request,
    v1::DeletePartitionResponse* response) {
  return On(*workers_, context, request, response, &PartitionServiceImpl::Delete);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::FinishResizePreparation(
    Context* context, const v1::FinishResizePreparationRequest* request,
    v1::FinishResizePreparationResponse* response) {
  return On(*workers_, context, request, response, &PartitionServiceImpl::FinishPreparation);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::GetHptStatistics(
    Context* context, const v1::GetHptStatisticsRequest* request,
    v1::GetHptStatisticsResponse* response) {
  return On(*scanners_, context, request, response, &PartitionServiceImpl::GetStatistics);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::CheckHpt(Context* context,
                                                              const v1::CheckHptRequest* request,
                                                              v1::CheckHptResponse* response) {
  return On(*scanners_, context, request, response, &PartitionServiceImpl::Check);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::GetDirtyPages(
    Context* context, const v1::GetDirtyPagesRequest* request,
    v1::GetDirtyPagesResponse* response) {
  return OnPartition(context, request, response, &server::GetDirtyPages);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::ListMappings(
    Context* context, const v1::ListMappingsRequest* request, v1::ListMappingsResponse* response) {
  return OnPartition(context, request, response, &server::ListMappings);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::HarvestReferenceChange(
    Context* context, const v1::HarvestReferenceChangeRequest* request,
    v1::HarvestReferenceChangeResponse* response) {
  return OnPartition(context, request, response, &server::HarvestReferenceChange);
}

PartitionServiceImpl::Reactor* PartitionServiceImpl::RemoveMappings(
    Context* context, const v1::RemoveMappingsRequest* request,
    v1::RemoveMappingsResponse* response) {
  return OnPartition(context, request, response, &server::RemoveMappings);
}

void PartitionServiceImpl::ServeStreams() {
  using Bytes = grpc::ByteBuffer;
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      mmu::v1::PartitionService::service_full_name());
  MarkMethodRawCallback(service->FindMethodByName("ExportHpt")->index(),
                        new grpc::internal::CallbackBidiHandler<Bytes, Bytes>([this](Context* c) {
                          return StartExportStream(c, registry_, *scanners_, *drain_);
                        }));
  MarkMethodRawCallback(service->FindMethodByName("ImportHpt")->index(),
                        new grpc::internal::CallbackClientStreamingHandler<Bytes, Bytes>(
                            [this](Context* c, Bytes* response) {
                              return StartImportStream(c, response, registry_, *scanners_, *drain_);
                            }));
}

absl::Status PartitionServiceImpl::Create(const v1::CreatePartitionRequest& request,
                                          v1::CreatePartitionResponse* response) {
  auto config = ConfigFromProto(request.config());
  if (!config.ok()) return config.status();
  auto served = registry_->Create(request.name(), *std::move(config));
  if (!served.ok()) return served.status();
  PartitionToProto(**served, response->mutable_partition());
  return absl::OkStatus();
}

absl::Status PartitionServiceImpl::Get(const v1::GetPartitionRequest& request,
                                       v1::GetPartitionResponse* response) {
  const auto served = registry_->Find(request.name());
  if (served == nullptr) return NoSuchPartition(request.name());
  PartitionToProto(*served, response->mutable_partition());
  return absl::OkStatus();
}

absl::Status PartitionServiceImpl::List(const v1::ListPartitionsRequest& request,
                                        v1::ListPartitionsResponse* response) {
  const auto count = BoundedCount("page_size", request.page_size(), kDefaultPageSize, kMaxPageSize);
  if (!count.ok()) return count.status();
  std::string after;
  if (!request.page_token().empty()) {
    auto name = NameOfPageToken(request.page_token());
    if (!name.ok()) return name.status();
    after = *std::move(name);
  }
  // One more than asked for, to know whether this page is the last.
  const auto found = registry_->List(after, static_cast<size_t>(*count) + 1);
  size_t bytes = 0;
  size_t listed = 0;
  while (listed < found.size() && listed < static_cast<size_t>(*count) && bytes < kMaxPageBytes) {
    v1::Partition* partition = response->add_partitions();
    PartitionToProto(*found[listed++], partition);
    bytes += partition->ByteSizeLong();
  }
  if (listed < found.size()) {
    response->set_next_page_token(PageTokenAfter(found[listed - 1]->name));
  }
  return absl::OkStatus();
}

absl::Status PartitionServiceImpl::Reset(const v1::ResetPartitionRequest& request,
                                         v1::ResetPartitionResponse* response) {
  std::optional<int> order;
  if (request.order() != 0) {
    if (absl::Status s = CheckOrder(request.order()); !s.ok()) return s;
    order = static_cast<int>(request.order());
  }
  const auto served = registry_->Find(request.name());
  if (served == nullptr) return NoSuchPartition(request.name());
  const ExclusiveOperation exclusive(*served);
  const absl::Status status = served->partition->Reset(order);
  if (absl::IsInvalidArgument(status)) return WithField(status, "order");
  if (absl::IsResourceExhausted(status)) {
    return LimitError("max_hpt_bytes", registry_->hpt_budget().limit(), status.message());
  }
  if (!status.ok()) return status;
  PartitionToProto(*served, response->mutable_partition());
  return absl::OkStatus();
}

absl::Status PartitionServiceImpl::Delete(const v1::DeletePartitionRequest& request,
                                          v1::DeletePartitionResponse*) {
  return registry_->Remove(request.name()) != nullptr ? absl::OkStatus()
                                                      : NoSuchPartition(request.name());
}

absl::Status PartitionServiceImpl::FinishPreparation(
    const v1::FinishResizePreparationRequest& request, v1::FinishResizePreparationResponse*) {
  if (absl::Status s = CheckOrder(request.order()); !s.ok()) return s;
  const int64_t code = request.return_code();
  if (code != hcall::kHSuccess && code != hcall::kHNoMem && code != hcall::kHPtegFull) {
    return FieldError("return_code", absl::StrCat(code, " is none of 0, -6, -9"));
  }
  const auto served = registry_->Find(request.name());
  if (served == nullptr) return NoSuchPartition(request.name());
  return served->partition->FinishResizePreparation(static_cast<int>(request.order()), code);
}

absl::Status PartitionServiceImpl::GetStatistics(const v1::GetHptStatisticsRequest& request,
                                                 v1::GetHptStatisticsResponse* response) {
  const auto served = registry_->Find(request.name());
  if (served == nullptr) return NoSuchPartition(request.name());
  StatisticsToProto(served->partition->GetStatistics(),
                    request.digest() ? DigestWanted::kYes : DigestWanted::kNo,
                    response->mutable_statistics());
  return absl::OkStatus();
}

absl::Status PartitionServiceImpl::Check(const v1::CheckHptRequest& request,
                                         v1::CheckHptResponse* response) {
  const auto count =
      BoundedCount("max_findings", request.max_findings(), kDefaultFindings, kMaxFindings);
  if (!count.ok()) return count.status();
  const auto served = registry_->Find(request.name());
  if (served == nullptr) return NoSuchPartition(request.name());
  CheckToProto(served->partition->Check(static_cast<size_t>(*count)), response);
  return absl::OkStatus();
}

}  // namespace papr::server
