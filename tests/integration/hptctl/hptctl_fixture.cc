#include "tests/integration/hptctl/hptctl_fixture.h"

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

std::string ReadScratch(int fd) {
  lseek(fd, 0, SEEK_SET);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

}  // namespace

ProgramResult RunHptctl(const std::string& target, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), HPTCTL_BINARY);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int output = OpenScratch();
  const int error = OpenScratch();
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(output, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    setenv("HPTD_TARGET", target.c_str(), 1);
    execv(HPTCTL_BINARY, argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.output = ReadScratch(output);
  result.error = ReadScratch(error);
  return result;
}

void HptctlTest::SetUp() {
  daemon_ = std::make_unique<server::ChildDaemon>(
      std::vector<std::string>{"--listen=127.0.0.1:0", "--metrics_listen=", "--log_level=warning"});
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
