// Calls to gRPC's own services, whose generated code Debian does not ship: messages as bytes.

#ifndef TESTS_INTEGRATION_RAW_CALL_H_
#define TESTS_INTEGRATION_RAW_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

namespace papr::server {

// A unary call of `method`, "/SERVICE/METHOD", with `request` as the request's bytes.
grpc::Status RawUnary(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      const std::string& request, std::string* response = nullptr);

// grpc.health.v1 Check of `service`: the response's bytes ("\x08\x01" is SERVING), or the error.
std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

// grpc.reflection.v1alpha list_services: the response's bytes, names in clear, or the error.
std::string ReflectedServices(const std::shared_ptr<grpc::Channel>& channel);

// A stream that is open while this lives, after one message each way: a call that does not end by
// itself.
class OpenStream {
 public:
  enum Kind : uint8_t {
    kHealthWatch,  // grpc.health.v1 Watch
    kReflection,   // grpc.reflection.v1alpha ServerReflectionInfo
  };
  explicit OpenStream(const std::shared_ptr<grpc::Channel>& channel, Kind kind = kHealthWatch);
  ~OpenStream();

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_RAW_CALL_H_
