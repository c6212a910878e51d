// Says what is wrong with a request whose bytes are no message of its type. gRPC itself answers
// such a call with UNIMPLEMENTED and no words, before any service sees it.
//
// Threads: any.

#ifndef SERVER_UNDECODABLE_REQUESTS_H_
#define SERVER_UNDECODABLE_REQUESTS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

namespace papr::server {

// An interceptor factory for ServerBuilder that makes the answer INVALID_ARGUMENT. Requires to come
// before interceptors that look at the status.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UndecodableRequestInterceptor();

}  // namespace papr::server

#endif  // SERVER_UNDECODABLE_REQUESTS_H_
