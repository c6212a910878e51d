#include "client/batch_limit.h"

#include <grpcpp/grpcpp.h>

#include "papr/mmu/v1/error.pb.h"

namespace papr::client {
namespace {

constexpr char kErrorDetailKey[] = "papr-error-bin";
constexpr char kLimitName[] = "max_batch_hcalls";

}  // namespace

void BatchLimit::Learn(const grpc::ClientContext& context, const grpc::Status& status,
                       size_t sent) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kErrorDetailKey);
  if (found == metadata.end()) return;
  mmu::v1::ErrorDetail detail;
  const auto size = static_cast<int>(found->second.size());
  if (!detail.ParseFromArray(found->second.data(), size)) return;
  // A limit that would have let the request through is not why it was refused.
  const uint64_t limit = detail.limit_value();
  if (detail.limit() == kLimitName && limit > 0 && limit < sent) limit_ = limit;
}

}  // namespace papr::client
