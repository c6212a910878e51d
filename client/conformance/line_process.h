// A child process that is talked to in lines: one to its standard input, one back from its standard
// output. Its standard error is ours.

#ifndef CLIENT_CONFORMANCE_LINE_PROCESS_H_
#define CLIENT_CONFORMANCE_LINE_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace papr::conformance {

class LineProcess {
 public:
  // Runs `command` by the shell. INTERNAL: no process or pipe can be had.
  static absl::StatusOr<std::unique_ptr<LineProcess>> Start(const std::string& command);
  // Closes the child's standard input, gives it two seconds, then kills its process group.
  ~LineProcess();

  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // Sends `line` and waits for one back, which comes without its end. UNAVAILABLE: the process is
  // gone; DEADLINE_EXCEEDED: nothing came in `limit`, and nothing more can be asked.
  absl::StatusOr<std::string> Ask(std::string_view line, std::chrono::milliseconds limit);

 private:
  LineProcess(pid_t child, int socket) : child_(child), socket_(socket) {}
  absl::Status Send(std::string_view line) const;
  absl::StatusOr<std::string> Receive(std::chrono::milliseconds limit);

  const pid_t child_;
  const int socket_;      // its standard input and output
  std::string received_;  // after the last line that was taken
};

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_LINE_PROCESS_H_
