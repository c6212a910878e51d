// Who may call. There are no credentials yet, so an address that other machines reach is served
// only if the operator says so in so many words.

#ifndef SERVER_IDENTITY_H_
#define SERVER_IDENTITY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/listen_address.h"

namespace papr::server {

enum class Exposure : uint8_t {
  kLoopbackOnly,
  kInsecure,  // --insecure: anyone who reaches the address may do anything
};

// FAILED_PRECONDITION: `address`, given by --`flag`, must not be listened on with this exposure.
// Any thread may call this.
absl::Status CheckExposure(const ListenAddress& address, absl::string_view flag, Exposure exposure);

}  // namespace papr::server

#endif  // SERVER_IDENTITY_H_
