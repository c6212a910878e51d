#include "client/hpt_stream.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "papr/mmu/v1/partition.grpc.pb.h"

namespace papr::client {

namespace v1 = ::papr::mmu::v1;

namespace {

// Of a message: far below what a daemon takes.
constexpr size_t kMessageBytes = size_t{256} << 10;

v1::HeaderByteOrder ToProto(std::endian order) {
  return order == std::endian::big ? v1::HEADER_BYTE_ORDER_BIG_ENDIAN
                                   : v1::HEADER_BYTE_ORDER_LITTLE_ENDIAN;
}

}  // namespace

// A message that cannot be written means that the call has ended: Finish() tells why.
struct HptExport::Rpc {
  grpc::ClientContext context;
  std::unique_ptr<v1::PartitionService::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExportHptRequest, v1::ExportHptResponse>> stream;
  bool finished = false;
};

HptExport::HptExport(std::shared_ptr<Connection> connection, const std::string& partition,
                     const hcall::HtabExport::Options& options)
    : connection_(std::move(connection)), rpc_(std::make_unique<Rpc>()) {
  rpc_->stub = v1::PartitionService::NewStub(connection_->channel());
  rpc_->stream = rpc_->stub->ExportHpt(&rpc_->context);
  v1::ExportHptRequest request;
  v1::ExportHptOpen& open = *request.mutable_open();
  open.set_name(partition);
  open.set_bolted_only(options.bolted_only);
  open.set_start_index(options.start_index);
  open.set_kvm_exact(options.kvm_exact);
  open.set_header_order(ToProto(options.header_order));
  rpc_->stream->Write(request);
}

HptExport::~HptExport() {
  if (rpc_->finished) return;
  rpc_->stream->WritesDone();
  rpc_->stream->Finish();
}

absl::StatusOr<v1::ExportHptResponse> HptExport::Read(uint32_t max_bytes) {
  v1::ExportHptRequest request;
  request.mutable_read()->set_max_bytes(max_bytes);
  v1::ExportHptResponse response;
  rpc_->stream->Write(request);
  if (rpc_->stream->Read(&response)) return response;
  rpc_->finished = true;
  const absl::Status status = connection_->ToStatus(rpc_->stream->Finish());
  return status.ok() ? absl::InternalError("the daemon ended the export") : status;
}

struct HptImport::Rpc {
  grpc::ClientContext context;
  std::unique_ptr<v1::PartitionService::Stub> stub;
  v1::ImportHptResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::ImportHptRequest>> stream;
  bool finished = false;
};

HptImport::HptImport(std::shared_ptr<Connection> connection, const std::string& partition,
                     std::endian header_order)
    : connection_(std::move(connection)), rpc_(std::make_unique<Rpc>()) {
  rpc_->stub = v1::PartitionService::NewStub(connection_->channel());
  rpc_->stream = rpc_->stub->ImportHpt(&rpc_->context, &rpc_->response);
  v1::ImportHptRequest request;
  request.mutable_open()->set_name(partition);
  request.mutable_open()->set_header_order(ToProto(header_order));
  rpc_->stream->Write(request);
}

HptImport::~HptImport() {
  if (rpc_->finished) return;
  rpc_->context.TryCancel();
  rpc_->stream->Finish();
}

absl::Status HptImport::Write(std::string_view bytes) {
  v1::ImportHptRequest request;
  while (!bytes.empty()) {
    request.set_data(std::string(bytes.substr(0, kMessageBytes)));
    if (!rpc_->stream->Write(request)) {
      const absl::Status status = Finish().status();
      return status.ok() ? absl::InternalError("the daemon ended the import") : status;
    }
    bytes.remove_prefix(std::min(bytes.size(), kMessageBytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ImportHptResponse> HptImport::Finish() {
  rpc_->stream->WritesDone();
  rpc_->finished = true;
  const absl::Status status = connection_->ToStatus(rpc_->stream->Finish());
  if (!status.ok()) return status;
  return rpc_->response;
}

}  // namespace papr::client
