// Calls to gRPC's own services, whose generated code Debian does not ship: messages as bytes.

#ifndef TESTS_INTEGRATION_RAW_CALL_H_
#define TESTS_INTEGRATION_RAW_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace papr::server {

// grpc.health.v1 Check of `service`: the response's bytes ("\x08\x01" is SERVING), or the error.
std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

// grpc.reflection.v1alpha list_services: the response's bytes, names in clear, or the error.
std::string ReflectedServices(const std::shared_ptr<grpc::Channel>& channel);

// A grpc.health.v1 Watch that is open while this lives: a call that does not end by itself.
class OpenStream {
 public:
  explicit OpenStream(const std::shared_ptr<grpc::Channel>& channel);
  ~OpenStream();

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_RAW_CALL_H_
