#include "client/health.h"

#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <future>

namespace papr::client {
namespace {

// grpc.health.v1.HealthCheckResponse.status
constexpr int kStatusField = 1;

}  // namespace

std::string_view HealthStateName(HealthState state) {
  switch (state) {
    case HealthState::kUnknown:
      return "UNKNOWN";
    case HealthState::kServing:
      return "SERVING";
    case HealthState::kNotServing:
      return "NOT_SERVING";
    case HealthState::kServiceUnknown:
      return "SERVICE_UNKNOWN";
  }
  return "UNKNOWN";
}

absl::StatusOr<HealthState> CheckHealth(const Connection& connection) {
  // gRPC ships the health service but not its messages: the request for the whole daemon is empty,
  // and the answer's one field is read as an unknown field of an empty message.
  using google::protobuf::Empty;
  grpc::TemplatedGenericStub<Empty, Empty> stub(connection.channel());
  grpc::ClientContext context;
  connection.Prepare(&context);
  Empty request;
  Empty response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request, &response,
                 [&done](const grpc::Status& status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  if (!status.ok()) return connection.ToStatus(status);
  const auto& fields = response.GetReflection()->GetUnknownFields(response);
  uint64_t state = 0;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == kStatusField &&
        field.type() == google::protobuf::UnknownField::TYPE_VARINT) {
      state = field.varint();
    }
  }
  return state <= static_cast<uint64_t>(HealthState::kServiceUnknown)
             ? static_cast<HealthState>(state)
             : HealthState::kUnknown;
}

}  // namespace papr::client
