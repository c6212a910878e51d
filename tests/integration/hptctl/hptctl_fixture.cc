#include "tests/integration/hptctl/hptctl_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace papr::client {
namespace {

// An unnamed file that the child writes and the test reads afterwards.
int OpenScratch() { return memfd_create("hptctl output", 0); }

// All of the file, whose position stays where the child has it.
std::string ReadScratch(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0;
       (n = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

HptctlProcess::HptctlProcess(const std::string& target, const std::vector<std::string>& arguments,
                             const std::string& output_path) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), HPTCTL_BINARY);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  output_fd_ = output_path.empty() ? OpenScratch() : open(output_path.c_str(), O_WRONLY);
  error_fd_ = OpenScratch();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(output_fd_, STDOUT_FILENO);
    dup2(error_fd_, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);  // tests in the background have it ignored
    setenv("HPTD_TARGET", target.c_str(), 1);
    execv(HPTCTL_BINARY, argv.data());
    _exit(127);
  }
}

std::string HptctlProcess::Error() const { return ReadScratch(error_fd_); }

void HptctlProcess::Signal(int signal) const { kill(pid_, signal); }

ProgramResult HptctlProcess::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.output = ReadScratch(output_fd_);
  result.error = ReadScratch(error_fd_);
  close(output_fd_);
  close(error_fd_);
  return result;
}

ProgramResult RunHptctl(const std::string& target, const std::vector<std::string>& arguments) {
  return HptctlProcess(target, arguments).Wait();
}

void HptctlTest::StartDaemon(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--listen=127.0.0.1:0", "--metrics_listen=", "--log_level=warning"});
  daemon_ = std::make_unique<server::ChildDaemon>(flags);
  ASSERT_TRUE(daemon_->WaitUntilReady());
  target_ = daemon_->Listening("grpc");
  ASSERT_FALSE(target_.empty());
}

ProgramResult HptctlTest::Run(const std::vector<std::string>& arguments) const {
  return RunHptctl(target_, arguments);
}

nlohmann::json HptctlTest::RunJson(std::vector<std::string> arguments, int exit_code) const {
  arguments.push_back("--json");
  const ProgramResult result = Run(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.error;
  nlohmann::json json = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << "not JSON: " << result.output;
  return json;
}

}  // namespace papr::client
