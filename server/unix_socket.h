// The file of a listening Unix socket: taken over if its daemon is gone, removed at the end.
//
// For one thread.

#ifndef SERVER_UNIX_SOCKET_H_
#define SERVER_UNIX_SOCKET_H_

#include <string>

#include "absl/status/status.h"

namespace papr::server {

// Makes `path` free to bind: removes a socket file that nobody listens on any more.
// INVALID_ARGUMENT: too long for a socket address. ALREADY_EXISTS: another process listens on it,
// or it is no socket. UNAVAILABLE: its folder is missing or may not be written.
absl::Status ClaimUnixSocket(const std::string& path);

}  // namespace papr::server

#endif  // SERVER_UNIX_SOCKET_H_
