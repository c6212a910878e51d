#include "server/identity.h"

#include "absl/strings/str_cat.h"

namespace papr::server {

absl::Status CheckExposure(const ListenAddress& address, absl::string_view flag,
                           Exposure exposure) {
  if (exposure == Exposure::kInsecure || address.IsLoopback()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--", flag, "=", address.ToString(),
      " is not a loopback address, and callers are not identified: anyone who reaches it could do "
      "anything to every partition. Listen on a loopback address or --unix_socket, or give "
      "--insecure if that is what you want"));
}

}  // namespace papr::server
