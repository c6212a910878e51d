// A child process with a pipe to its standard input, one from its standard output, and its standard
// error kept for whoever asks what went wrong.
//
// For one thread, which must live as long as the child: the child is killed when the thread that
// started it ends.

#ifndef TESTS_CONFORMANCE_QEMU_CHILD_PROCESS_H_
#define TESTS_CONFORMANCE_QEMU_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace papr::conformance {

class ChildProcess {
 public:
  // Starts `arguments`[0], looked up in PATH. The child inherits the descriptors `inherited` under
  // their numbers. INTERNAL: the system refuses. If there is no such program, the child ends.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, std::span<const int> inherited);
  // Kills the child and waits for its end.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes all of `text`. ABORTED: the child has closed its input.
  absl::Status Write(std::string_view text);
  // The next line of standard output, without its end. DEADLINE_EXCEEDED; ABORTED: the child has
  // closed its output.
  absl::StatusOr<std::string> ReadLine(std::chrono::steady_clock::time_point deadline);

  bool Running();  // false from the child's end on
  // Waits for the child's end, then kills it.
  void WaitOrKill(std::chrono::milliseconds patience);
  // The last line of standard error that is not empty; what the child ended with if there is none.
  std::string LastWords() const;

 private:
  ChildProcess(pid_t pid, int input, int output, int error)
      : pid_(pid), input_(input), output_(output), error_(error) {}

  const pid_t pid_;
  const int input_;   // what we write to
  const int output_;  // what we read from
  const int error_;   // a file in memory
  bool reaped_ = false;
  int wait_status_ = 0;
  std::string unread_;  // of the output: what came after the last line
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_CHILD_PROCESS_H_
