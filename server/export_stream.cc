#include "server/export_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hcall/htab_export.h"
#include "papr/mmu/v1/partition.pb.h"
#include "server/errors.h"
#include "server/header_byte_order.h"
#include "server/limits.h"
#include "server/raw_message.h"
#include "server/stream_work.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

// Lives until OnDone().
class ExportStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ExportStream(grpc::CallbackServerContext* context, std::shared_ptr<PartitionRegistry> registry,
               WorkerPool& pool)
      : registry_(std::move(registry)),
        work_(std::make_shared<StreamWork>(
            context, pool,
            StreamWork::Reactor{[this] { StartRead(&message_); },
                                [this](const grpc::Status& status) { Finish(status); },
                                [this] { export_.reset(); }})) {}

  void Start(DrainState& drain) { work_->Start(drain); }

  void OnReadDone(bool ok) override {
    work_->Do([this, ok] { ok && !work_->cancelled() ? Step() : work_->Finish(absl::OkStatus()); });
  }
  void OnWriteDone(bool ok) override {
    ok ? work_->AwaitMessage() : work_->Finish(absl::CancelledError("the caller has gone away"));
  }
  void OnDone() override { delete this; }

 private:
  // One message of the client, on a worker.
  void Step() {
    v1::ExportHptRequest request;
    absl::Status status = Decode(&message_, &request);
    if (status.ok() && export_ == nullptr) {
      status = Open(request);
      if (status.ok()) return work_->AwaitMessage();
    } else if (status.ok()) {
      status = Read(request);
      if (status.ok()) return StartWrite(&answer_);
    }
    work_->Finish(status);
  }

  absl::Status Open(const v1::ExportHptRequest& request) {
    if (!request.has_open()) return FieldError("open", "the first request must have it");
    const v1::ExportHptOpen& open = request.open();
    const auto order = HeaderOrder(open.header_order());
    if (!order.ok()) return order.status();
    served_ = registry_->Find(open.name());
    if (served_ == nullptr) return NoSuchPartition(open.name());
    auto opened = hcall::HtabExport::Open(*served_->partition, {.bolted_only = open.bolted_only(),
                                                                .start_index = open.start_index(),
                                                                .kvm_exact = open.kvm_exact(),
                                                                .header_order = *order});
    if (!opened.ok()) return opened.status();
    export_ = *std::move(opened);
    return absl::OkStatus();
  }

  absl::Status Read(const v1::ExportHptRequest& request) {
    if (!request.has_read()) return FieldError("read", "every request but the first must have it");
    if (registry_->Find(served_->name) != served_) return NoSuchPartition(served_->name);
    const uint32_t asked = request.read().max_bytes();
    std::string buffer(asked == 0 ? kDefaultExportBytes : std::min(asked, kMaxExportBytes), '\0');
    const auto result = export_->Read({buffer.data(), buffer.size()});
    if (!result.ok()) return result.status();
    buffer.resize(result->bytes);
    v1::ExportHptResponse response;
    response.set_data(std::move(buffer));
    response.set_first_pass(result->first_pass);
    response.set_end_of_pass(result->end_of_table);
    answer_ = Encode(response);
    return absl::OkStatus();
  }

  const std::shared_ptr<PartitionRegistry> registry_;
  std::shared_ptr<ServedPartition> served_;    // null before it is opened
  std::unique_ptr<hcall::HtabExport> export_;  // of served_
  grpc::ByteBuffer message_;
  grpc::ByteBuffer answer_;
  const std::shared_ptr<StreamWork> work_;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartExportStream(
    grpc::CallbackServerContext* context, std::shared_ptr<PartitionRegistry> registry,
    WorkerPool& pool, DrainState& drain) {
  auto* stream = new ExportStream(context, std::move(registry), pool);
  stream->Start(drain);
  return stream;
}

}  // namespace papr::server
