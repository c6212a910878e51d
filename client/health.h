// Is a daemon well? The standard grpc.health.v1 question.

#ifndef CLIENT_HEALTH_H_
#define CLIENT_HEALTH_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/connection.h"

namespace papr::client {

enum class HealthState : uint8_t { kUnknown, kServing, kNotServing, kServiceUnknown };

// "SERVING" ...
std::string_view HealthStateName(HealthState state);

// The state of the daemon as a whole. Errors: as Connection::ToStatus().
absl::StatusOr<HealthState> CheckHealth(const Connection& connection);

}  // namespace papr::client

#endif  // CLIENT_HEALTH_H_
