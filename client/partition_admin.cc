#include "client/partition_admin.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "client/config_proto.h"
#include "papr/mmu/v1/partition.grpc.pb.h"

namespace papr::client {

namespace v1 = ::papr::mmu::v1;

struct PartitionAdmin::Rpc {
  std::unique_ptr<v1::PartitionService::Stub> stub;

  // Makes one unary call.
  template <typename Request, typename Response>
  absl::Status Call(const Connection& connection,
                    grpc::Status (v1::PartitionService::Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    connection.Prepare(&context);
    return connection.ToStatus((stub.get()->*method)(&context, request, response));
  }

  absl::StatusOr<v1::HptStatistics> Statistics(const Connection& connection,
                                               const v1::GetHptStatisticsRequest& request) {
    v1::GetHptStatisticsResponse response;
    const absl::Status status =
        Call(connection, &v1::PartitionService::Stub::GetHptStatistics, request, &response);
    if (!status.ok()) return status;
    return std::move(*response.mutable_statistics());
  }
};

PartitionAdmin::PartitionAdmin(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)), rpc_(std::make_unique<Rpc>()) {
  rpc_->stub = v1::PartitionService::NewStub(connection_->channel());
}

PartitionAdmin::~PartitionAdmin() = default;

absl::StatusOr<v1::Partition> PartitionAdmin::Create(const std::string& name,
                                                     const hcall::PartitionConfig& config) {
  v1::CreatePartitionRequest request;
  request.set_name(name);
  *request.mutable_config() = ToProto(config);
  v1::CreatePartitionResponse response;
  const absl::Status status =
      rpc_->Call(*connection_, &v1::PartitionService::Stub::CreatePartition, request, &response);
  if (!status.ok()) return status;
  return std::move(*response.mutable_partition());
}

absl::StatusOr<v1::Partition> PartitionAdmin::Get(const std::string& name) {
  v1::GetPartitionRequest request;
  request.set_name(name);
  v1::GetPartitionResponse response;
  const absl::Status status =
      rpc_->Call(*connection_, &v1::PartitionService::Stub::GetPartition, request, &response);
  if (!status.ok()) return status;
  return std::move(*response.mutable_partition());
}

absl::StatusOr<std::vector<v1::Partition>> PartitionAdmin::List() {
  std::vector<v1::Partition> all;
  v1::ListPartitionsRequest request;
  do {
    v1::ListPartitionsResponse response;
    const absl::Status status =
        rpc_->Call(*connection_, &v1::PartitionService::Stub::ListPartitions, request, &response);
    if (!status.ok()) return status;
    for (v1::Partition& partition : *response.mutable_partitions()) {
      all.push_back(std::move(partition));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::Partition> PartitionAdmin::Reset(const std::string& name,
                                                    std::optional<int> order) {
  v1::ResetPartitionRequest request;
  request.set_name(name);
  if (order.has_value()) request.set_order(static_cast<uint32_t>(*order));
  v1::ResetPartitionResponse response;
  const absl::Status status =
      rpc_->Call(*connection_, &v1::PartitionService::Stub::ResetPartition, request, &response);
  if (!status.ok()) return status;
  return std::move(*response.mutable_partition());
}

absl::Status PartitionAdmin::Delete(const std::string& name) {
  v1::DeletePartitionRequest request;
  request.set_name(name);
  v1::DeletePartitionResponse response;
  return rpc_->Call(*connection_, &v1::PartitionService::Stub::DeletePartition, request, &response);
}

absl::Status PartitionAdmin::FinishResizePreparation(const std::string& name, int order,
                                                     int64_t return_code) {
  v1::FinishResizePreparationRequest request;
  request.set_name(name);
  request.set_order(static_cast<uint32_t>(order));
  request.set_return_code(return_code);
  v1::FinishResizePreparationResponse response;
  return rpc_->Call(*connection_, &v1::PartitionService::Stub::FinishResizePreparation, request,
                    &response);
}

absl::StatusOr<v1::HptStatistics> PartitionAdmin::GetStatistics(const std::string& name) {
  v1::GetHptStatisticsRequest request;
  request.set_name(name);
  request.set_digest(true);
  return rpc_->Statistics(*connection_, request);
}

absl::StatusOr<uint64_t> PartitionAdmin::CountValid(const std::string& name) {
  v1::GetHptStatisticsRequest request;
  request.set_name(name);
  absl::StatusOr<v1::HptStatistics> statistics = rpc_->Statistics(*connection_, request);
  if (!statistics.ok()) return statistics.status();
  return statistics->valid();
}

absl::StatusOr<v1::CheckHptResponse> PartitionAdmin::Check(const std::string& name,
                                                           int max_findings) {
  v1::CheckHptRequest request;
  request.set_name(name);
  request.set_max_findings(max_findings);
  v1::CheckHptResponse response;
  const absl::Status status =
      rpc_->Call(*connection_, &v1::PartitionService::Stub::CheckHpt, request, &response);
  if (!status.ok()) return status;
  return response;
}

namespace {

bool Continues(const v1::PageRun& last, const v1::PageRun& next) {
  return last.address() + last.bytes() == next.address();
}

bool Continues(const v1::ReferenceRun& last, const v1::ReferenceRun& next) {
  return last.address() + last.bytes() == next.address() &&
         last.referenced() == next.referenced() && last.changed() == next.changed();
}

// Appends the runs of a further answer, whose first may go on with the last.
template <typename Run, typename Runs>
void Append(const Runs& answer, std::vector<Run>* all) {
  for (const Run& run : answer) {
    if (!all->empty() && Continues(all->back(), run)) {
      all->back().set_bytes(all->back().bytes() + run.bytes());
    } else {
      all->push_back(run);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<v1::PageRun>> PartitionAdmin::GetDirtyPages(const std::string& name,
                                                                       uint64_t start, bool keep) {
  std::vector<v1::PageRun> all;
  v1::GetDirtyPagesRequest request;
  request.set_name(name);
  request.set_start(start);
  request.set_keep(keep);
  for (;;) {
    v1::GetDirtyPagesResponse response;
    const absl::Status status =
        rpc_->Call(*connection_, &v1::PartitionService::Stub::GetDirtyPages, request, &response);
    if (!status.ok()) return status;
    Append(response.runs(), &all);
    if (!response.more()) return all;
    request.set_start(response.next_start());
  }
}

absl::StatusOr<v1::ListMappingsResponse> PartitionAdmin::ListMappings(const std::string& name,
                                                                      uint64_t page,
                                                                      int max_mappings) {
  v1::ListMappingsRequest request;
  request.set_name(name);
  request.set_page(page);
  request.set_max_mappings(max_mappings);
  v1::ListMappingsResponse response;
  const absl::Status status =
      rpc_->Call(*connection_, &v1::PartitionService::Stub::ListMappings, request, &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<std::vector<v1::ReferenceRun>> PartitionAdmin::HarvestReferenceChange(
    const std::string& name, uint64_t base, uint64_t size, bool keep) {
  std::vector<v1::ReferenceRun> all;
  v1::HarvestReferenceChangeRequest request;
  request.set_name(name);
  request.set_base(base);
  request.set_size(size);
  request.set_keep(keep);
  for (;;) {
    v1::HarvestReferenceChangeResponse response;
    const absl::Status status = rpc_->Call(
        *connection_, &v1::PartitionService::Stub::HarvestReferenceChange, request, &response);
    if (!status.ok()) return status;
    Append(response.runs(), &all);
    if (!response.more()) return all;
    request.set_base(response.next_base());
    request.set_size(base + size - response.next_base());
  }
}

absl::StatusOr<uint64_t> PartitionAdmin::RemoveMappings(const std::string& name, uint64_t base,
                                                        uint64_t size) {
  uint64_t removed = 0;
  v1::RemoveMappingsRequest request;
  request.set_name(name);
  request.set_base(base);
  request.set_size(size);
  for (;;) {
    v1::RemoveMappingsResponse response;
    const absl::Status status =
        rpc_->Call(*connection_, &v1::PartitionService::Stub::RemoveMappings, request, &response);
    if (!status.ok()) return status;
    removed += response.removed();
    if (!response.more()) return removed;
    request.set_base(response.next_base());
    request.set_size(base + size - response.next_base());
  }
}

}  // namespace papr::client
