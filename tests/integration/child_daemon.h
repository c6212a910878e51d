// The real hptd as a child process, with what it prints.

#ifndef TESTS_INTEGRATION_CHILD_DAEMON_H_
#define TESTS_INTEGRATION_CHILD_DAEMON_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace papr::server {

class ChildDaemon {
 public:
  // `output`: a file to be its standard output, which is then not read; empty: a pipe.
  explicit ChildDaemon(std::vector<std::string> arguments, const std::string& output = "");
  ~ChildDaemon();  // kills it if it still runs
  ChildDaemon(const ChildDaemon&) = delete;
  ChildDaemon& operator=(const ChildDaemon&) = delete;

  // Waits for the line "ready" or the end of standard output; true if ready.
  bool WaitUntilReady();
  // What follows "listening KIND " in the output so far; empty if there is no such line.
  std::string Listening(const std::string& kind) const;
  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for the end; the exit code, or 1000 plus the signal that killed it.
  int Wait();

  // All of standard output that was read, and after Wait() all of standard error.
  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }

 private:
  pid_t pid_ = -1;
  int output_fd_ = -1;
  int error_fd_ = -1;
  std::string output_;
  std::string error_;
};

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_CHILD_DAEMON_H_
