#include "client/remote_hypervisor.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "papr/mmu/v1/hcall.grpc.pb.h"

namespace papr::client {
namespace {

namespace v1 = ::papr::mmu::v1;

void Encode(const hcall::HcallRequest& request, v1::Hcall* message) {
  message->set_opcode(request.opcode);
  message->set_problem_state(request.problem_state);
  int count = hcall::kRegisterCount;  // missing arguments are 0, so trailing zeros need not travel
  while (count > 0 && request.registers[static_cast<size_t>(count) - 1] == 0) --count;
  message->mutable_arguments()->Assign(request.registers.begin(),
                                       request.registers.begin() + count);
}

absl::Status Decode(const v1::HcallResult& message, const hcall::HcallRequest& request,
                    hcall::HcallResult* result) {
  if (message.outputs_size() > hcall::kRegisterCount) {
    return absl::InternalError(
        absl::StrCat("the daemon returned ", message.outputs_size(), " registers"));
  }
  result->return_code = message.return_code();
  result->output_count = message.outputs_size();
  result->registers = request.registers;
  for (int i = 0; i < message.outputs_size(); ++i) {
    result->registers[static_cast<size_t>(i)] = message.outputs(i);
  }
  return absl::OkStatus();
}

}  // namespace

struct RemoteHypervisor::Rpc {
  std::unique_ptr<v1::HcallService::Stub> stub;
  v1::HcallRequest request;
  v1::HcallResponse response;
  v1::HcallBatchRequest batch_request;
  v1::HcallBatchResponse batch_response;
};

RemoteHypervisor::RemoteHypervisor(std::shared_ptr<Connection> connection, std::string partition)
    : connection_(std::move(connection)), rpc_(std::make_unique<Rpc>()) {
  rpc_->stub = v1::HcallService::NewStub(connection_->channel());
  rpc_->request.set_partition(partition);
  rpc_->batch_request.set_partition(std::move(partition));
}

RemoteHypervisor::~RemoteHypervisor() = default;

absl::StatusOr<hcall::HcallResult> RemoteHypervisor::Hcall(const hcall::HcallRequest& request) {
  Encode(request, rpc_->request.mutable_hcall());
  grpc::ClientContext context;
  connection_->Prepare(&context);
  const grpc::Status status = rpc_->stub->Hcall(&context, rpc_->request, &rpc_->response);
  if (!status.ok()) return connection_->ToStatus(status);
  ++round_trips_;
  hcall::HcallResult result;
  if (absl::Status decoded = Decode(rpc_->response.result(), request, &result); !decoded.ok()) {
    return decoded;
  }
  return result;
}

absl::Status RemoteHypervisor::HcallBatch(std::span<const hcall::HcallRequest> requests,
                                          hcall::BatchMode mode,
                                          std::vector<hcall::HcallResult>* results) {
  results->clear();
  do {  // a batch of none is sent too
    const size_t count = batch_limit_.Piece(requests.size());
    const size_t before = results->size();
    absl::Status status = SendPiece(requests.first(count), mode, results);
    if (!status.ok()) {
      if (batch_limit_.Piece(count) < count)
        continue;  // it was refused, and the limit is known now
      return status;
    }
    const bool stopped = mode == hcall::BatchMode::kStopAtFirstError && results->size() > before &&
                         results->back().return_code != hcall::kHSuccess;
    if (stopped) break;
    requests = requests.subspan(count);
  } while (!requests.empty());
  return absl::OkStatus();
}

absl::Status RemoteHypervisor::SendPiece(std::span<const hcall::HcallRequest> requests,
                                         hcall::BatchMode mode,
                                         std::vector<hcall::HcallResult>* results) {
  v1::HcallBatchRequest& batch = rpc_->batch_request;
  batch.clear_hcalls();
  batch.set_stop_on_failure(mode == hcall::BatchMode::kStopAtFirstError);
  for (const hcall::HcallRequest& request : requests) Encode(request, batch.add_hcalls());
  grpc::ClientContext context;
  connection_->Prepare(&context);
  const grpc::Status status = rpc_->stub->HcallBatch(&context, batch, &rpc_->batch_response);
  if (!status.ok()) {
    batch_limit_.Learn(context, status, requests.size());
    return connection_->ToStatus(status);
  }
  ++round_trips_;

  const auto& answers = rpc_->batch_response.results();
  const auto answered = static_cast<size_t>(answers.size());
  if (answered > requests.size() ||
      (answered < requests.size() && mode == hcall::BatchMode::kAll)) {
    return absl::InternalError(absl::StrCat("the daemon answered ", answered, " of ",
                                            requests.size(), " hcalls of a batch"));
  }
  const size_t before = results->size();
  results->resize(before + answered);
  for (size_t i = 0; i < answered; ++i) {
    const absl::Status decoded =
        Decode(answers[static_cast<int>(i)], requests[i], &(*results)[before + i]);
    if (!decoded.ok()) return decoded;
  }
  return absl::OkStatus();
}

}  // namespace papr::client
