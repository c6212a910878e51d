// Keeps a number of unary RPCs in flight for a while and counts them.
//
// Requests are serialised beforehand and of a response only the length is looked at, so that the
// client costs the same whatever the method and stays ahead of the server.

#ifndef TESTS_BENCH_CLOSED_LOOP_H_
#define TESTS_BENCH_CLOSED_LOOP_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace papr::bench {

// A request and how long its response is when it succeeds. A PAPR return code other than H_SUCCESS
// makes the response longer, so that the length tells.
struct Exchange {
  grpc::ByteBuffer request;
  size_t response_bytes;
};

Exchange MakeExchange(const google::protobuf::MessageLite& request,
                      const google::protobuf::MessageLite& response);

// What a loop sends: lane i sends its exchanges in turn, for ever, one at a time.
struct Load {
  std::string method;  // "/package.Service/Method"
  std::vector<std::vector<Exchange>> lanes;
};

class ClosedLoop {
 public:
  // One connection to `target`, a gRPC address; `load` must outlive the loop.
  ClosedLoop(const std::string& target, const Load& load);
  ~ClosedLoop();

  // Calls for `time`, lets those in flight end, and returns the seconds a call took, all lanes
  // together. Exits if a call fails.
  double SecondsACall(std::chrono::duration<double> time);
  // Calls so far.
  uint64_t calls() const { return calls_; }

 private:
  struct Lane;

  void Send(Lane& lane);
  void Receive(Lane& lane);

  const Load& load_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  uint64_t calls_ = 0;
};

}  // namespace papr::bench

#endif  // TESTS_BENCH_CLOSED_LOOP_H_
