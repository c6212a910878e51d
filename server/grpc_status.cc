#include "server/grpc_status.h"

#include <string>

#include "server/errors.h"

namespace papr::server {
namespace {

// A message may quote what the client sent: bytes that are no UTF-8 must not go back in a header
// that has to be, nor more of them than the 8 KB of headers that clients take.
constexpr size_t kMaxMessageBytes = 1024;

std::string Printable(absl::string_view text) {
  std::string clean(text.substr(0, kMaxMessageBytes));
  if (clean.size() < text.size()) clean += "...";
  for (char& c : clean) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return clean;
}

}  // namespace

grpc::Status ToGrpcStatus(grpc::ServerContextBase* context, const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const mmu::v1::ErrorDetail detail = DetailOf(status);
  if (detail.ByteSizeLong() > 0) {
    context->AddTrailingMetadata(kErrorDetailKey, detail.SerializeAsString());
  }
  // gRPC and Abseil share the numbers of the canonical codes.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Printable(status.message()));
}

}  // namespace papr::server
