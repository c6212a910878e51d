// What hptctl says to those who ask wrongly, or cannot be answered: exit codes and where the text
// goes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kNobody[] = "unix:/nonexistent/hptd.sock";

TEST(HptctlUsageTest, VersionAndHelpAreResults) {
  const ProgramResult version = RunHptctl(kNobody, {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, HasSubstr("hptctl 0."));
  const ProgramResult help = RunHptctl(kNobody, {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"),
                                 HasSubstr("HPTD_TARGET"), HasSubstr("experiment")));
}

TEST(HptctlUsageTest, EverySubcommandHasHelpWithAnExample) {
  const std::vector<std::vector<std::string>> commands = {{"health"},
                                                          {"hcall"},
                                                          {"dump"},
                                                          {"check"},
                                                          {"dirty"},
                                                          {"mappings"},
                                                          {"harvest"},
                                                          {"unmap"},
                                                          {"replay"},
                                                          {"partition", "create"},
                                                          {"experiment", "slot-tracking"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--help");
    const ProgramResult help = RunHptctl(kNobody, command);
    EXPECT_EQ(help.exit_code, 0) << command[0];
    EXPECT_THAT(help.output, HasSubstr("Example")) << command[0];
  }
}

TEST(HptctlUsageTest, WrongCommandLinesGiveTwoAndNameTheWrong) {
  const struct {
    std::vector<std::string> arguments;
    const char* named;
  } cases[] = {
      {{}, "subcommand"},
      {{"frobnicate"}, "frobnicate"},
      {{"partition"}, "subcommand"},
      {{"partition", "create"}, "NAME"},
      {{"partition", "create", "x", "--order", "17"}, "order"},
      {{"partition", "create", "x", "--ram", "nonsense"}, "ram"},
      {{"partition", "reset", "x", "--order", "many"}, "order"},
      {{"hcall", "H_READ", "0"}, "--partition"},
      {{"hcall", "H_NONSENSE", "--partition", "x"}, "H_NONSENSE"},
      {{"hcall", "0xzz", "--partition", "x"}, "0xzz"},
      {{"hcall", "H_READ", "0x10000000000000000", "--partition", "x"}, "0x10000000000000000"},
      {{"hcall", "4", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "--partition", "x"},
       "at most 9"},
      {{"dump"}, "--partition"},
      {{"check", "--partition", "x", "--max-findings", "0"}, "--max-findings"},
      {{"replay"}, "FILE"},
      {{"replay", "x", "--batch", "0"}, "--batch"},
      {{"experiment", "slot-tracking", "--mode", "guess"}, "--mode"},
      {{"experiment", "slot-tracking", "--page-size", "8K"}, "--page-size"},
      {{"experiment", "slot-tracking", "--hpt-order", "60"}, "order"},
      {{"experiment", "slot-tracking", "--target", "local", "--transport", "unary"},
       "--transport unary needs a daemon"},
      {{"partition", "list", "--target", "local"}, "needs a daemon"},
      {{"health", "--target", "nonsense"}, "nonsense"},
      {{"health", "--target", "127.0.0.1:99999"}, "127.0.0.1:99999"},
      {{"health", "--target", "127.0.0.1:0"}, "PORT 1 to 65535"},
      {{"health", "--target", "unix:"}, "unix:"},
      {{"experiment", "slot-tracking", "--platform", "powernv", "--mode", "slot"},
       "--mode slot needs --platform pseries"},
      {{"health", "--nonsense"}, "--nonsense"},
  };
  for (const auto& c : cases) {
    const ProgramResult result = RunHptctl(kNobody, c.arguments);
    EXPECT_EQ(result.exit_code, 2) << c.named << ": " << result.error;
    EXPECT_THAT(result.error, HasSubstr(c.named));
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST(HptctlUsageTest, NoDaemonGivesThreeAndTheRemedy) {
  const std::vector<std::vector<std::string>> commands = {{"health"},
                                                          {"partition", "list"},
                                                          {"partition", "create", "x"},
                                                          {"dump", "--partition", "x"},
                                                          {"check", "--partition", "x"},
                                                          {"hcall", "H_READ", "--partition", "x"},
                                                          {"experiment", "slot-tracking"}};
  for (const auto& command : commands) {
    const ProgramResult result = RunHptctl(kNobody, command);
    EXPECT_EQ(result.exit_code, 3) << command[0];
    EXPECT_THAT(result.error, AllOf(HasSubstr("cannot reach hptd at unix:/nonexistent/hptd.sock"),
                                    HasSubstr("is it running?"), HasSubstr("--target")));
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST(HptctlUsageTest, AFileThatCannotBeReadGivesFourAndItsName) {
  const struct {
    const char* path;
    const char* error;
  } cases[] = {
      {"/nonexistent", "cannot open /nonexistent: No such file"},
      {"/nonexistent/x.trace.zst", "cannot open /nonexistent/x.trace.zst: No such file"},
      {"/", "cannot open /: Is a directory"},
  };
  for (const auto& c : cases) {
    for (const char* more : {"--json", "--no-final"}) {
      const ProgramResult result = RunHptctl("local", {"replay", c.path, more});
      EXPECT_EQ(result.exit_code, 4);
      EXPECT_THAT(result.error, AllOf(HasSubstr(c.error), Not(HasSubstr("final"))));
    }
  }
}

class HptctlHealthTest : public HptctlTest {};

TEST_F(HptctlHealthTest, ServingUntilTheDaemonIsGone) {
  const ProgramResult up = Run({"health"});
  EXPECT_EQ(up.exit_code, 0);
  EXPECT_EQ(up.output, "SERVING\n");
  EXPECT_EQ(RunJson({"health"})["status"], "SERVING");
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_EQ(Run({"health"}).exit_code, 3);
}

TEST_F(HptctlHealthTest, TheFlagWinsOverTheEnvironment) {
  EXPECT_EQ(RunHptctl(kNobody, {"--target", target_, "health"}).exit_code, 0);
  EXPECT_EQ(RunHptctl(kNobody, {"health", "--target", target_}).exit_code, 0);
}

}  // namespace
}  // namespace papr::client
