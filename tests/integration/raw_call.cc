#include "tests/integration/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <utility>
#include <vector>

namespace papr::server {
namespace {

constexpr char kReflectionMethod[] =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
// ServerReflectionRequest: list_services is field 7, a string.
constexpr char kListServices[] = "\x3a\x01*";

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToBytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

grpc::Status RawUnary(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      const std::string& request, std::string* response) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const grpc::ByteBuffer sent = ToBuffer(request);
  grpc::ByteBuffer received;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &sent, &received,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  grpc::Status status = done.get_future().get();
  if (response != nullptr) *response = ToBytes(received);
  return status;
}

std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  // HealthCheckRequest: field 1, a string.
  std::string message;
  if (!service.empty()) message = std::string{'\x0a', static_cast<char>(service.size())} + service;
  std::string response;
  const grpc::Status status = RawUnary(channel, "/grpc.health.v1.Health/Check", message, &response);
  return status.ok() ? response : status.error_message();
}

namespace {

// One request, one response, the end.
class OneExchange : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  OneExchange(grpc::GenericStub& stub, const std::string& method, const std::string& request)
      : request_(ToBuffer(request)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    stub.PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (ok) bytes_ = ToBytes(response_);
    StartWritesDone();
  }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }

  std::string Result() {
    const grpc::Status status = done_.get_future().get();
    return status.ok() ? bytes_ : status.error_message();
  }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::string bytes_;
  std::promise<grpc::Status> done_;
};

}  // namespace

std::string ReflectedServices(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  OneExchange exchange(stub, kReflectionMethod, kListServices);
  return exchange.Result();
}

class OpenStream::Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(const std::shared_ptr<grpc::Channel>& channel, Kind kind)
      : stub_(channel), request_(ToBuffer(kind == kHealthWatch ? "" : kListServices)) {
    stub_.PrepareBidiStreamingCall(
        &context_, kind == kHealthWatch ? "/grpc.health.v1.Health/Watch" : kReflectionMethod,
        grpc::StubOptions(), this);
    if (kind == kHealthWatch) {
      StartWriteLast(&request_, grpc::WriteOptions());
    } else {
      StartWrite(&request_);
    }
    StartRead(&response_);
    StartCall();
    opened_.get_future().wait();
  }
  ~Stream() override {
    context_.TryCancel();
    done_.get_future().wait();
  }
  void OnReadDone(bool ok) override {
    if (!std::exchange(read_, true)) opened_.set_value();
    if (ok) StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override { done_.set_value(); }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  bool read_ = false;
  std::promise<void> opened_;
  std::promise<void> done_;
};

OpenStream::OpenStream(const std::shared_ptr<grpc::Channel>& channel, Kind kind)
    : stream_(std::make_unique<Stream>(channel, kind)) {}
OpenStream::~OpenStream() = default;

}  // namespace papr::server
