// What the subcommands of hptctl share: the global options, exit codes, connecting, and how errors
// are told.

#ifndef CLIENT_HPTCTL_CONTEXT_H_
#define CLIENT_HPTCTL_CONTEXT_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection.h"

namespace papr::client::hptctl {

enum ExitCode : int {
  kExitOk = 0,
  kExitNo = 1,     // the answer is no: mismatches, faults, an hcall that was refused, not serving
  kExitUsage = 2,  // the command line
  kExitTransport = 3,  // the daemon cannot be reached, or did not answer in time
  kExitRefused = 4,    // the daemon refused the request, or a file cannot be read or written
  kExitSignal = 128,   // plus the number of the signal that stopped the command
};

inline constexpr std::string_view kDefaultTarget = "127.0.0.1:50051";

struct Context {
  std::string target{kDefaultTarget};
  bool json = false;
  bool local_allowed = false;  // the subcommand can do without a daemon
  // What the command line asks for; set by the subcommand that was given, returns the exit code.
  std::function<int()> action;
};

// Says "hptctl: ..." on stderr and returns the exit code that goes with `status`.
int Fail(const absl::Status& status);
// The same for a command line that makes no sense.
int FailUsage(std::string_view message);

// True if --target is something that the subcommand can use; else says so on stderr.
bool CheckTarget(const Context& context);

// A connection to the daemon that --target names, which has passed CheckTarget().
absl::StatusOr<std::shared_ptr<Connection>> Connect(const Context& context);

// A 64-bit number, decimal or with 0x. INVALID_ARGUMENT.
absl::StatusOr<uint64_t> ParseNumber(std::string_view text);

// "0x12".
std::string Hex(uint64_t value);

// Prints one JSON document on stdout. A command prints one at most, and only when it is complete;
// what went wrong is always told as text on stderr.
void PrintJson(const nlohmann::ordered_json& document);

// The last thing before the process ends: sees to it that the output got where it was to go.
// Returns `exit_code`, or, if that would say the command did its work although its output is lost,
// says so on stderr and returns kExitRefused.
int FinishOutput(int exit_code);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_CONTEXT_H_
