// Messages of streams as bytes. gRPC ends a stream whose message it cannot decode as if the client
// had, so streams take their messages undecoded and decode them here.
//
// Any thread may call these.

#ifndef SERVER_RAW_MESSAGE_H_
#define SERVER_RAW_MESSAGE_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include "absl/status/status.h"

namespace papr::server {

// INVALID_ARGUMENT: the bytes are no message of this type. `bytes` is used up.
template <typename Message>
absl::Status Decode(grpc::ByteBuffer* bytes, Message* message) {
  if (grpc::SerializationTraits<Message>::Deserialize(bytes, message).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the bytes of a request are no message of this method's type");
}

template <typename Message>
grpc::ByteBuffer Encode(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  // Fails for messages above 2 GB only.
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own_buffer);
  return bytes;
}

}  // namespace papr::server

#endif  // SERVER_RAW_MESSAGE_H_
