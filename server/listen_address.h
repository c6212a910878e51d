// HOST:PORT as a daemon's flag gives it. Any thread may use this.

#ifndef SERVER_LISTEN_ADDRESS_H_
#define SERVER_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace papr::server {

struct ListenAddress {
  std::string host;   // a name or an IP address, IPv6 without brackets
  uint16_t port = 0;  // 0: any that is free

  // "127.0.0.1:50051", "[::1]:50051".
  std::string ToString() const;
  // True for 127.0.0.0/8, ::1 and "localhost": nobody else's machine reaches it.
  bool IsLoopback() const;
};

// INVALID_ARGUMENT: `text` is not HOST:PORT with a port of 0 to 65535.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

// Why one cannot listen on an address just now, such as "Address already in use"; empty if one can.
// For messages, after a library has failed to and does not say why.
std::string WhyNoListening(const ListenAddress& address);

// Connects to `address` and hangs up, so that who listens there wakes up. Does not wait.
void Knock(const ListenAddress& address);

}  // namespace papr::server

#endif  // SERVER_LISTEN_ADDRESS_H_
