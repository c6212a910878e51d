#include "client/conformance/line_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"

namespace papr::conformance {
namespace {

constexpr auto kTimeToLeave = std::chrono::seconds(2);

absl::Status SystemError(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// In the child: `socket` becomes standard input and output.
[[noreturn]] void Become(const std::string& command, int socket) {
  setpgid(0, 0);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineProcess>> LineProcess::Start(const std::string& command) {
  // A socket and not pipes: sending to a child that is gone can be told not to raise SIGPIPE.
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return SystemError("socketpair");
  }
  const pid_t child = fork();
  if (child < 0) {
    const absl::Status status = SystemError("fork");
    close(sockets[0]);
    close(sockets[1]);
    return status;
  }
  if (child == 0) Become(command, sockets[1]);
  close(sockets[1]);
  setpgid(child, child);  // also here: whichever of the two comes first
  return std::unique_ptr<LineProcess>(new LineProcess(child, sockets[0]));
}

LineProcess::~LineProcess() {
  shutdown(socket_, SHUT_WR);
  const auto give_up = std::chrono::steady_clock::now() + kTimeToLeave;
  while (waitpid(child_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      kill(-child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  close(socket_);
}

absl::StatusOr<std::string> LineProcess::Ask(std::string_view line,
                                             std::chrono::milliseconds limit) {
  if (absl::Status status = Send(line); !status.ok()) return status;
  return Receive(limit);
}

absl::Status LineProcess::Send(std::string_view line) const {
  std::string bytes(line);
  bytes += '\n';
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::UnavailableError("the process is gone");
    sent += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LineProcess::Receive(std::chrono::milliseconds limit) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        give_up - std::chrono::steady_clock::now());
    if (left.count() <= 0) return absl::DeadlineExceededError("no answer in time");
    pollfd ready = {socket_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError("the process is gone");
    received_.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace papr::conformance
