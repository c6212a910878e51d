// hptctl whose output is lost on its way: that is no success.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::HasSubstr;

class HptctlOutputTest : public HptctlTest {};

TEST_F(HptctlOutputTest, AFullDeviceGivesFourAndAMessage) {
  ASSERT_EQ(Run({"partition", "create", "lpar1", "--order", "18"}).exit_code, 0);
  const std::string trace =
      std::string(TEST_DATA_DIR) + "/conformance/traces/hugetlb-6.1-64k-16m.trace.zst";
  const std::vector<std::vector<std::string>> commands = {
      {"--version"},
      {"--help"},
      {"dump", "--help"},
      {"health"},
      {"partition", "list"},
      {"partition", "show", "lpar1"},
      {"hcall", "H_READ", "0", "0", "--partition", "lpar1"},
      {"hcall", "H_REMOVE", "0", "0", "--partition", "lpar1"},  // whose answer is no
      {"check", "--partition", "lpar1"},
      {"dump", "--partition", "lpar1"},
      {"dump", "--all", "--partition", "lpar1"},  // more than a buffer holds
      {"replay", trace, "--target", "local"},
      {"experiment", "slot-tracking", "--iterations", "1", "--target", "local"}};
  for (const std::vector<std::string>& command : commands) {
    for (const bool json : {false, true}) {
      std::vector<std::string> arguments = command;
      if (json) arguments.push_back("--json");
      const ProgramResult result = HptctlProcess(target_, arguments, "/dev/full").Wait();
      EXPECT_EQ(result.exit_code, 4) << command[0] << " " << json;
      EXPECT_THAT(result.error, HasSubstr("cannot write to standard output")) << command[0];
    }
  }
}

TEST_F(HptctlOutputTest, OtherFailuresKeepTheirCode) {
  const std::vector<std::string> arguments = {"partition", "show", "none"};
  EXPECT_EQ(HptctlProcess(target_, arguments, "/dev/full").Wait().exit_code, 4);
  const ProgramResult nobody =
      HptctlProcess("unix:/nonexistent/hptd.sock", {"health"}, "/dev/full").Wait();
  EXPECT_EQ(nobody.exit_code, 3);
}

TEST_F(HptctlOutputTest, AFailureWithJsonPrintsNoDocument) {
  const std::vector<std::vector<std::string>> commands = {
      {"partition", "show", "none"},      {"partition", "delete", "none"},
      {"partition", "reset", "none"},     {"check", "--partition", "none"},
      {"dump", "--partition", "none"},    {"hcall", "H_READ", "--partition", "none"},
      {"partition", "create", "bad name"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--json");
    const ProgramResult result = Run(command);
    EXPECT_GE(result.exit_code, 2) << command[0];
    EXPECT_EQ(result.output, "") << command[0];
    EXPECT_NE(result.error, "") << command[0];
  }
}

}  // namespace
}  // namespace papr::client
