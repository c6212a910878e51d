#include "server/errors.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/limits.h"

namespace papr::server {
namespace {

constexpr absl::string_view kPayload = "papr.mmu.v1.ErrorDetail";

absl::Status WithDetail(absl::Status status, const mmu::v1::ErrorDetail& detail) {
  status.SetPayload(kPayload, absl::Cord(detail.SerializeAsString()));
  return status;
}

}  // namespace

absl::Status FieldError(absl::string_view field, absl::string_view what) {
  return WithField(absl::InvalidArgumentError(absl::StrCat(field, ": ", what)), field);
}

absl::Status LimitError(absl::string_view flag, uint64_t value, absl::string_view what) {
  mmu::v1::ErrorDetail detail;
  detail.set_limit(std::string(flag));
  detail.set_limit_value(value);
  return WithDetail(
      absl::ResourceExhaustedError(absl::StrCat(what, ": the limit is --", flag, "=", value)),
      detail);
}

absl::Status NoSuchPartition(absl::string_view name) {
  // What is longer is no name, and not worth repeating.
  const bool whole = name.size() <= kMaxPartitionNameLength;
  return absl::NotFoundError(absl::StrCat(
      "no partition \"", name.substr(0, kMaxPartitionNameLength), "\"", whole ? "" : "..."));
}

absl::Status WithField(absl::Status status, absl::string_view field) {
  mmu::v1::ErrorDetail detail;
  detail.set_field(std::string(field));
  return WithDetail(std::move(status), detail);
}

absl::Status RecordError(const absl::Status& status, absl::string_view field, uint64_t record) {
  mmu::v1::ErrorDetail detail;
  detail.set_field(std::string(field));
  detail.set_record(record);
  return WithDetail(absl::Status(status.code(), absl::StrCat(field, ": ", status.message())),
                    detail);
}

mmu::v1::ErrorDetail DetailOf(const absl::Status& status) {
  mmu::v1::ErrorDetail detail;
  if (const auto payload = status.GetPayload(kPayload)) {
    detail.ParseFromString(std::string(*payload));
  }
  return detail;
}

}  // namespace papr::server
