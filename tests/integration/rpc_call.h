// One unary RPC and everything that came back of it.

#ifndef TESTS_INTEGRATION_RPC_CALL_H_
#define TESTS_INTEGRATION_RPC_CALL_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "papr/mmu/v1/error.pb.h"

namespace papr::server {

template <typename Response>
struct Reply {
  grpc::Status status;
  mmu::v1::ErrorDetail detail;  // of the trailing metadata; empty if there was none
  Response response;
};

template <typename Stub, typename Request, typename Response>
Reply<Response> Call(Stub& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request) {
  Reply<Response> reply;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  reply.status = (stub.*method)(&context, request, &reply.response);
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find("papr-error-bin"); found != trailers.end()) {
    reply.detail.ParseFromArray(found->second.data(), static_cast<int>(found->second.size()));
  }
  return reply;
}

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_RPC_CALL_H_
