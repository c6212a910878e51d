// The daemon's command line.

#ifndef SERVER_FLAGS_H_
#define SERVER_FLAGS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/log.h"
#include "server/options.h"

namespace papr::server {

struct CommandLine {
  ServerOptions server;
  LogLevel log_level = LogLevel::kInfo;
  absl::Duration drain_timeout;
};

// Parses the arguments, once in a process and before other threads start. Exits with 0 after --help
// and
// --version, and with an error on an unknown flag or a value that is none. INVALID_ARGUMENT: an
// argument that is no flag, or a value that does not fit, its flag named.
absl::StatusOr<CommandLine> ParseFlags(int argc, char** argv);

}  // namespace papr::server

#endif  // SERVER_FLAGS_H_
