// Runs hptctl as a process, against an hptd of its own.

#ifndef TESTS_INTEGRATION_HPTCTL_HPTCTL_FIXTURE_H_
#define TESTS_INTEGRATION_HPTCTL_HPTCTL_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/child_daemon.h"

namespace papr::client {

struct ProgramResult {
  int exit_code = -1;
  std::string output;  // standard output
  std::string error;   // standard error
};

// hptctl while it runs.
class HptctlProcess {
 public:
  // Starts it with these arguments and HPTD_TARGET set to `target`. What it prints goes to the file
  // `output_path` if one is named.
  HptctlProcess(const std::string& target, const std::vector<std::string>& arguments,
                const std::string& output_path = "");

  // Its standard error so far.
  std::string Error() const;
  void Signal(int signal) const;
  // Waits for its end; call it once.
  ProgramResult Wait();

 private:
  pid_t pid_ = -1;
  int output_fd_ = -1;
  int error_fd_ = -1;
};

// Runs hptctl to its end.
ProgramResult RunHptctl(const std::string& target, const std::vector<std::string>& arguments);

class HptctlTest : public ::testing::Test {
 protected:
  void SetUp() override { StartDaemon({}); }

  // Starts this test's daemon with flags beside those it always has.
  void StartDaemon(std::vector<std::string> flags);
  // hptctl at this test's daemon.
  ProgramResult Run(const std::vector<std::string>& arguments) const;
  // The same with --json, which must succeed with `exit_code` and print a document.
  nlohmann::json RunJson(std::vector<std::string> arguments, int exit_code = 0) const;

  std::unique_ptr<server::ChildDaemon> daemon_;
  std::string target_;
};

}  // namespace papr::client

#endif  // TESTS_INTEGRATION_HPTCTL_HPTCTL_FIXTURE_H_
