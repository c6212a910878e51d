// The ways in which a call itself can fail, as absl::Status that carries an ErrorDetail: which
// field was refused, or which limit was met. No gRPC here; server/grpc_status.h puts them on the
// wire. Any thread may call these.

#ifndef SERVER_ERRORS_H_
#define SERVER_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "papr/mmu/v1/error.pb.h"

namespace papr::server {

// INVALID_ARGUMENT: request field `field` (a path such as "config.memory[1].base") is refused; the
// message reads "FIELD: WHAT".
absl::Status FieldError(absl::string_view field, absl::string_view what);

// RESOURCE_EXHAUSTED: flag --`flag` allows `value`; the message reads "WHAT: the limit is
// --FLAG=VALUE".
absl::Status LimitError(absl::string_view flag, uint64_t value, absl::string_view what);

// NOT_FOUND: there is no partition of this name.
absl::Status NoSuchPartition(absl::string_view name);

// `status` with its field named as `field`.
absl::Status WithField(absl::Status status, absl::string_view field);

// `status`, which is about record number `record` of the stream in field `field`; the message reads
// "FIELD: WHAT".
absl::Status RecordError(const absl::Status& status, absl::string_view field, uint64_t record);

// What a status of these functions carries; an empty message if nothing.
mmu::v1::ErrorDetail DetailOf(const absl::Status& status);

}  // namespace papr::server

#endif  // SERVER_ERRORS_H_
