#include "server/undecodable_requests.h"

#include <grpcpp/grpcpp.h>

namespace papr::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

class UndecodableInterceptor : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      undecodable_ = batch->GetRecvMessage() == nullptr;
    }
    if (undecodable_ &&
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      batch->ModifySendStatus(grpc::Status(
          grpc::StatusCode::INVALID_ARGUMENT,
          "the request's bytes are no message of this method's type; nothing was executed"));
    }
    batch->Proceed();
  }

 private:
  bool undecodable_ = false;
};

class Factory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // In a stream no message means the end of the client's; ours decode their own.
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return info->type() == ServerRpcInfo::Type::UNARY ? new UndecodableInterceptor : nullptr;
  }
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UndecodableRequestInterceptor() {
  return std::make_unique<Factory>();
}

}  // namespace papr::server
