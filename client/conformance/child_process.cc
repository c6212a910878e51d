#include "client/conformance/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <thread>

#include "absl/strings/str_cat.h"

namespace papr::conformance {
namespace {

constexpr int kCannotExecute = 127;
constexpr size_t kLongestLine = 64 << 10;

absl::Status SystemError(std::string_view what) {
  return absl::InternalError(
      absl::StrCat(absl::string_view(what.data(), what.size()), ": ", std::strerror(errno)));
}

int MillisecondsTo(std::chrono::steady_clock::time_point deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

// What the child does between fork() and exec(): system calls only.
[[noreturn]] void BecomeProgram(char** arguments, pid_t parent, int socket, int error,
                                const ChildProcess::Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);  // it ended before the line above
  if (options.own_group) setpgid(0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  if (error >= 0) dup2(error, STDERR_FILENO);
  for (const int descriptor : options.inherited) fcntl(descriptor, F_SETFD, 0);
  execvp(arguments[0], arguments);
  _exit(kCannotExecute);
}

void CloseAll(std::span<const int> descriptors) {
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, const Options& options) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  // A socket and not pipes: writing to a child that is gone can be told not to raise SIGPIPE.
  std::array<int, 2> sockets = {-1, -1};
  const int error = options.keep_error ? memfd_create("stderr", MFD_CLOEXEC) : -1;
  if ((options.keep_error && error < 0) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    const absl::Status status = SystemError("socketpair");
    CloseAll(std::array{error});
    return status;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeProgram(argv.data(), parent, sockets[1], error, options);
  if (pid < 0) {
    const absl::Status status = SystemError("fork");
    CloseAll(std::array{sockets[0], sockets[1], error});
    return status;
  }
  close(sockets[1]);
  if (options.own_group) setpgid(pid, pid);  // also here: whichever of the two comes first
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, sockets[0], error, options.own_group));
}

ChildProcess::~ChildProcess() {
  WaitOrKill(std::chrono::milliseconds(0));
  if (own_group_) kill(-pid_, SIGKILL);  // those that it has left behind
  CloseAll(std::array{socket_, error_});
}

absl::Status ChildProcess::Write(std::string_view text,
                                 std::chrono::steady_clock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t written = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return absl::AbortedError(LastWords());
    const auto left = MillisecondsTo(deadline);
    if (left <= 0) return absl::DeadlineExceededError("it does not read its standard input");
    pollfd writable{socket_, POLLOUT, 0};
    poll(&writable, 1, left);
  }
  return absl::OkStatus();
}

void ChildProcess::CloseInput() { shutdown(socket_, SHUT_WR); }

absl::StatusOr<std::string> ChildProcess::ReadLine(std::chrono::steady_clock::time_point deadline) {
  for (size_t searched = 0;;) {
    if (const size_t end = unread_.find('\n', searched); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    searched = unread_.size();
    if (searched > kLongestLine) {
      return absl::ResourceExhaustedError("more than 64 KB without an end of line");
    }
    const auto left = MillisecondsTo(deadline);
    if (left <= 0) return absl::DeadlineExceededError("no answer on standard output");
    pollfd readable{socket_, POLLIN, 0};
    if (poll(&readable, 1, left) <= 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      WaitOrKill(std::chrono::seconds(1));
      return absl::AbortedError(LastWords());
    }
    unread_.append(buffer.data(), static_cast<size_t>(count));
  }
}

bool ChildProcess::HasOutput() const {
  char byte = 0;
  return !unread_.empty() || recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool ChildProcess::Running() {
  if (!reaped_) reaped_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return !reaped_;
}

void ChildProcess::WaitOrKill(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (Running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (reaped_) return;
  kill(own_group_ ? -pid_ : pid_, SIGKILL);
  waitpid(pid_, &wait_status_, 0);
  reaped_ = true;
}

std::string ChildProcess::LastWords() const {
  std::string text;
  std::array<char, 4096> buffer;
  while (error_ >= 0) {
    const ssize_t count =
        pread(error_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (const size_t end = text.rfind('\n'); end != std::string::npos) text.erase(0, end + 1);
  if (!text.empty()) return text;
  if (!reaped_) return "still running";
  if (WIFSIGNALED(wait_status_)) return strsignal(WTERMSIG(wait_status_));
  if (WEXITSTATUS(wait_status_) == kCannotExecute) return "it cannot be executed";
  return absl::StrCat("exit status ", WEXITSTATUS(wait_status_));
}

}  // namespace papr::conformance
