#include "tests/integration/child_daemon.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace papr::server {
namespace {

// Reads more of `fd` into `text`; false at the end.
bool ReadSome(int fd, std::string& text) {
  char buffer[4096];
  const ssize_t n = read(fd, buffer, sizeof(buffer));
  if (n > 0) text.append(buffer, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

ChildDaemon::ChildDaemon(std::vector<std::string> arguments, const std::string& output_file) {
  arguments.insert(arguments.begin(), HPTD_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int output[2];
  // A file, so that a daemon that logs much never waits for this test to read.
  error_fd_ = memfd_create("standard error of hptd", MFD_CLOEXEC);
  if (error_fd_ < 0 || pipe(output) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    const int file = output_file.empty() ? output[1] : open(output_file.c_str(), O_WRONLY);
    dup2(file, STDOUT_FILENO);
    dup2(error_fd_, STDERR_FILENO);
    close(output[0]);
    close(output[1]);
    execv(HPTD_BINARY, argv.data());
    _exit(127);
  }
  close(output[1]);
  output_fd_ = output[0];
}

ChildDaemon::~ChildDaemon() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
  close(output_fd_);
  close(error_fd_);
}

bool ChildDaemon::WaitUntilReady() {
  while (output_.find("ready\n") == std::string::npos) {
    if (!ReadSome(output_fd_, output_)) return false;
  }
  return true;
}

std::string ChildDaemon::Listening(const std::string& kind) const {
  const std::string start = "listening " + kind + " ";
  const size_t found = output_.find(start);
  if (found == std::string::npos) return "";
  const size_t begin = found + start.size();
  return output_.substr(begin, output_.find('\n', begin) - begin);
}

void ChildDaemon::Signal(int signal) const { kill(pid_, signal); }

int ChildDaemon::Wait() {
  while (ReadSome(output_fd_, output_)) {
  }
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  lseek(error_fd_, 0, SEEK_SET);
  while (ReadSome(error_fd_, error_)) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace papr::server
