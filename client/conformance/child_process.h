// A child process that is talked to through its standard input and output, in lines.
//
// For one thread, which must live as long as the child: the child is killed when the thread that
// started it ends.

#ifndef CLIENT_CONFORMANCE_CHILD_PROCESS_H_
#define CLIENT_CONFORMANCE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace papr::conformance {

class ChildProcess {
 public:
  struct Options {
    std::vector<int> inherited = {};  // descriptors that the child has under the same numbers
    // Its standard error is kept for LastWords(); else it is ours.
    bool keep_error = false;
    // It leads a process group, all of which is killed with it, and signals of the terminal do not
    // reach it.
    bool own_group = false;
  };

  // Starts `arguments`[0], looked up in PATH. INTERNAL: the system refuses. If there is no such
  // program, the child ends.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, const Options& options);
  // Kills the child and waits for its end.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes all of `text`. DEADLINE_EXCEEDED: the child does not read it; ABORTED: it has closed its
  // input.
  absl::Status Write(std::string_view text, std::chrono::steady_clock::time_point deadline);
  // Nothing more will be written.
  void CloseInput();
  // The next line of standard output, without its end. DEADLINE_EXCEEDED; ABORTED: the child has
  // closed its output; RESOURCE_EXHAUSTED: 64 KB without an end of line.
  absl::StatusOr<std::string> ReadLine(std::chrono::steady_clock::time_point deadline);
  // Has the child said something that is not read yet?
  bool HasOutput() const;

  bool Running();  // false from the child's end on
  // Waits for the child's end, then kills it.
  void WaitOrKill(std::chrono::milliseconds patience);
  // The last line of standard error that is not empty; what the child ended with if there is none,
  // or if it is not kept.
  std::string LastWords() const;

 private:
  ChildProcess(pid_t pid, int socket, int error, bool own_group)
      : pid_(pid), socket_(socket), error_(error), own_group_(own_group) {}

  const pid_t pid_;
  const int socket_;  // the child's standard input and output
  const int error_;   // a file in memory, or -1
  const bool own_group_;
  bool reaped_ = false;
  int wait_status_ = 0;
  std::string unread_;  // of the output: what came after the last line
};

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_CHILD_PROCESS_H_
