#include "tests/bench/closed_loop.h"

#include <cstdlib>
#include <iostream>
#include <optional>

namespace papr::bench {
namespace {

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Exchange MakeExchange(const google::protobuf::MessageLite& request,
                      const google::protobuf::MessageLite& response) {
  const grpc::Slice slice(request.SerializeAsString());
  return {grpc::ByteBuffer(&slice, 1), response.ByteSizeLong()};
}

struct ClosedLoop::Lane {
  const std::vector<Exchange>* exchanges = nullptr;
  size_t next = 0;
  std::optional<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
};

ClosedLoop::ClosedLoop(const std::string& target, const Load& load)
    : load_(load), stub_(Connect(target)) {
  for (const std::vector<Exchange>& exchanges : load.lanes) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->exchanges = &exchanges;
  }
}

ClosedLoop::~ClosedLoop() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void ClosedLoop::Send(Lane& lane) {
  lane.context.emplace();
  lane.response.Clear();
  lane.call = stub_.PrepareUnaryCall(&*lane.context, load_.method,
                                     (*lane.exchanges)[lane.next].request, &queue_);
  lane.call->StartCall();
  lane.call->Finish(&lane.response, &lane.status, &lane);
}

void ClosedLoop::Receive(Lane& lane) {
  const Exchange& exchange = (*lane.exchanges)[lane.next];
  if (!lane.status.ok() || lane.response.Length() != exchange.response_bytes) {
    std::cerr << load_.method << ": status " << lane.status.error_code() << " "
              << lane.status.error_message() << ", " << lane.response.Length()
              << " bytes instead of " << exchange.response_bytes << "\n";
    std::exit(EXIT_FAILURE);
  }
  lane.next = (lane.next + 1) % lane.exchanges->size();
  ++calls_;
}

double ClosedLoop::SecondsACall(std::chrono::duration<double> time) {
  const uint64_t calls_before = calls_;
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  for (auto& lane : lanes_) Send(*lane);
  size_t in_flight = lanes_.size();
  while (in_flight > 0) {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    Lane& lane = *static_cast<Lane*>(tag);
    Receive(lane);
    if (std::chrono::steady_clock::now() < end) {
      Send(lane);
    } else {
      --in_flight;
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / static_cast<double>(calls_ - calls_before);
}

}  // namespace papr::bench
