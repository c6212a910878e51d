#include "tests/integration/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <utility>
#include <vector>

namespace papr::server {
namespace {

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

std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  // HealthCheckRequest: field 1, a string.
  std::string message;
  if (!service.empty()) message = std::string{'\x0a', static_cast<char>(service.size())} + service;
  const grpc::ByteBuffer request = ToBuffer(message);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  return status.ok() ? ToBytes(response) : status.error_message();
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
  // ServerReflectionRequest: list_services is field 7, a string.
  OneExchange exchange(stub, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                       "\x3a\x01*");
  return exchange.Result();
}

class OpenStream::Watch : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Watch(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(channel), request_(ToBuffer("")) {
    stub_.PrepareBidiStreamingCall(&context_, "/grpc.health.v1.Health/Watch", grpc::StubOptions(),
                                   this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
    opened_.get_future().wait();
  }
  ~Watch() override {
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

OpenStream::OpenStream(const std::shared_ptr<grpc::Channel>& channel)
    : watch_(std::make_unique<Watch>(channel)) {}
OpenStream::~OpenStream() = default;

}  // namespace papr::server
