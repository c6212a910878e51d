#include "server/import_stream.h"

#include <optional>
#include <string>
#include <utility>

#include "hcall/htab_import.h"
#include "papr/mmu/v1/partition.pb.h"
#include "server/errors.h"
#include "server/header_byte_order.h"
#include "server/raw_message.h"
#include "server/stream_work.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

// Lives until OnDone().
class ImportStream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  ImportStream(grpc::CallbackServerContext* context, grpc::ByteBuffer* response,
               std::shared_ptr<PartitionRegistry> registry, WorkerPool& pool)
      : registry_(std::move(registry)),
        response_(response),
        work_(std::make_shared<StreamWork>(
            context, pool,
            StreamWork::Reactor{[this] { StartRead(&message_); },
                                [this](const grpc::Status& status) { Finish(status); }, [] {}})) {}

  void Start(DrainState& drain) { work_->Start(drain); }

  void OnReadDone(bool ok) override {
    work_->Do([this, ok] { ok && !work_->cancelled() ? Step() : work_->Finish(EndOfStream()); });
  }
  void OnDone() override { delete this; }

 private:
  // One message of the client, on a worker.
  void Step() {
    v1::ImportHptRequest request;
    absl::Status status = Decode(&message_, &request);
    if (status.ok()) status = import_.has_value() ? Store(request) : Open(request);
    status.ok() ? work_->AwaitMessage() : work_->Finish(status);
  }

  absl::Status Open(const v1::ImportHptRequest& request) {
    if (!request.has_open()) return FieldError("open", "the first request must have it");
    const auto order = HeaderOrder(request.open().header_order());
    if (!order.ok()) return order.status();
    served_ = registry_->Find(request.open().name());
    if (served_ == nullptr) return NoSuchPartition(request.open().name());
    import_.emplace(*served_->partition, *order);
    return StorePending();  // of nothing: says if the partition can take any
  }

  absl::Status Store(const v1::ImportHptRequest& request) {
    if (request.request_case() != v1::ImportHptRequest::kData) {
      return FieldError("data", "every request but the first must have it");
    }
    if (registry_->Find(served_->name) != served_) return NoSuchPartition(served_->name);
    pending_.append(request.data());
    return StorePending();
  }

  absl::Status StorePending() {
    const ExclusiveOperation exclusive(*served_);
    const auto consumed = import_->Write(pending_);
    if (absl::IsInvalidArgument(consumed.status())) {
      return RecordError(consumed.status(), "data", import_->counts().records + 1);
    }
    if (!consumed.ok()) return consumed.status();
    pending_.erase(0, *consumed);
    bytes_ += *consumed;
    return absl::OkStatus();
  }

  // The client has sent all, or has gone away.
  absl::Status EndOfStream() {
    if (work_->cancelled()) return absl::CancelledError("the caller has gone away");
    if (!import_.has_value()) return FieldError("open", "the first request must have it");
    v1::ImportHptResponse response;
    response.set_records(import_->counts().records);
    response.set_stored(import_->counts().stored);
    response.set_removed(import_->counts().removed);
    response.set_bytes(bytes_);
    response.set_incomplete_bytes(pending_.size());
    *response_ = Encode(response);
    return absl::OkStatus();
  }

  const std::shared_ptr<PartitionRegistry> registry_;
  grpc::ByteBuffer* const response_;
  std::shared_ptr<ServedPartition> served_;  // null before it is opened
  std::optional<hcall::HtabImport> import_;  // into served_
  std::string pending_;                      // of a record that has not come as a whole
  uint64_t bytes_ = 0;                       // of the stream that are applied
  grpc::ByteBuffer message_;
  const std::shared_ptr<StreamWork> work_;
};

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* StartImportStream(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response,
    std::shared_ptr<PartitionRegistry> registry, WorkerPool& pool, DrainState& drain) {
  auto* stream = new ImportStream(context, response, std::move(registry), pool);
  stream->Start(drain);
  return stream;
}

}  // namespace papr::server
