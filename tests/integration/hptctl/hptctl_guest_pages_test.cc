// hptctl dirty, mappings, harvest, unmap.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HptctlGuestPagesTest : public HptctlTest {
 protected:
  void SetUp() override {
    HptctlTest::SetUp();
    ASSERT_EQ(Run({"partition", "create", "p", "--order", "18", "--track-guest-pages"}).exit_code,
              0);
  }
  // R and C are set in `r`, or not.
  void Enter(const std::string& ptex, const std::string& r) const {
    ASSERT_EQ(
        Run({"hcall", "H_ENTER", "0x8000000000", ptex, "0x1001", r, "--partition", "p"}).exit_code,
        0);
  }
};

TEST_F(HptctlGuestPagesTest, DirtyTellsOnceWhatWasChanged) {
  Enter("0", "0x5192");
  Enter("1", "0x6192");
  Enter("2", "0x9192");
  Enter("3", "0xb012");
  const ProgramResult look = Run({"dirty", "--partition", "p", "--keep"});
  EXPECT_EQ(look.exit_code, 0) << look.error;
  EXPECT_THAT(look.output, AllOf(HasSubstr("0x0000000000005000           2"),
                                 HasSubstr("p: 3 pages in 2 runs changed")));
  const auto later = RunJson({"dirty", "--partition", "p", "--start", "32K"});
  EXPECT_EQ(later["pages"], 1);
  EXPECT_EQ(later["runs"][0]["address"], "0x9000");
  const auto rest = RunJson({"dirty", "--partition", "p"});
  EXPECT_EQ(rest["kept"], false);
  EXPECT_EQ(rest["runs"].size(), 1u);
  EXPECT_EQ(rest["runs"][0]["bytes"], 0x2000);
  EXPECT_EQ(RunJson({"dirty", "--partition", "p"})["pages"], 0);
}

TEST_F(HptctlGuestPagesTest, WatchCountsUntilItIsStopped) {
  Enter("0", "0x5192");
  HptctlProcess watch(target_, {"dirty", "--partition", "p", "--watch", "0.1"});
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  watch.Signal(SIGINT);
  const ProgramResult result = watch.Wait();
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  EXPECT_THAT(result.output, AllOf(HasSubstr("p: 1 page in 1 run changed\n"),
                                   HasSubstr("p: 0 pages in 0 runs changed\n")));
  const ProgramResult both = Run({"dirty", "--partition", "p", "--watch", "1", "--json"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.error, HasSubstr("--watch"));
}

TEST_F(HptctlGuestPagesTest, MappingsAreDecoded) {
  Enter("5", "0x5192");
  Enter("9", "0x5012");
  const ProgramResult text = Run({"mappings", "--partition", "p", "--page", "0x5000"});
  EXPECT_THAT(text.output, HasSubstr("p: 2 entries map the page at 0x5000"));
  const auto json = RunJson({"mappings", "--partition", "p", "--page", "0x5000"});
  ASSERT_EQ(json["entries"].size(), 2u);
  EXPECT_EQ(json["entries"][0]["real_address"], "0x5000");
  EXPECT_EQ(json["more"], false);
  const auto one = RunJson({"mappings", "--partition", "p", "--page", "0x5000", "--max", "1"});
  EXPECT_EQ(one["entries"].size(), 1u);
  EXPECT_EQ(one["more"], true);
}

TEST_F(HptctlGuestPagesTest, HarvestTellsReferencesToo) {
  Enter("5", "0x5112");
  Enter("6", "0x6192");
  const ProgramResult look = Run({"harvest", "--partition", "p", "--keep"});
  EXPECT_THAT(look.output, AllOf(HasSubstr("0x0000000000005000           1  R-"),
                                 HasSubstr("0x0000000000006000           1  RC"),
                                 HasSubstr("p: 2 pages in 2 runs referenced or changed")));
  const auto part = RunJson({"harvest", "--partition", "p", "--base", "0x5000", "--size", "4K"});
  ASSERT_EQ(part["runs"].size(), 1u);
  EXPECT_EQ(part["runs"][0]["changed"], false);
  EXPECT_EQ(RunJson({"harvest", "--partition", "p"})["pages"], 1);
  EXPECT_EQ(RunJson({"harvest", "--partition", "p"})["pages"], 0);
}

TEST_F(HptctlGuestPagesTest, UnmapRemovesWhatMapsARange) {
  Enter("5", "0x5012");
  Enter("6", "0x10000012");
  const ProgramResult unmapped =
      Run({"unmap", "--partition", "p", "--base", "256M", "--size", "256M"});
  EXPECT_EQ(unmapped.output, "p: 1 entries removed\n");
  EXPECT_EQ(RunJson({"unmap", "--partition", "p", "--base", "0", "--size", "1G"})["removed"], 1);
  EXPECT_THAT(Run({"partition", "show", "p"}).output,
              AllOf(HasSubstr("entries: 0 valid"), HasSubstr("tracking guest pages: ")));
}

TEST_F(HptctlGuestPagesTest, WrongQuestionsSayWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    const char* named;
  } cases[] = {
      {{"dirty"}, 2, "--partition"},
      {{"dirty", "--partition", "p", "--start", "5"}, 2, "multiple of a page"},
      {{"mappings", "--partition", "p"}, 2, "--page"},
      {{"mappings", "--partition", "p", "--page", "here"}, 2, "--page: 'here'"},
      {{"harvest", "--partition", "p", "--base", "2T", "--size", "0"}, 2, "--size"},
      {{"harvest", "--partition", "p", "--base", "0x1000000000000000"}, 2, "--base"},
      {{"unmap", "--partition", "p", "--base", "0"}, 2, "--size"},
      {{"dirty", "--partition", "nobody"}, 4, "nobody"},
      {{"mappings", "--partition", "nobody", "--page", "0"}, 4, "nobody"},
  };
  for (const auto& wrong : cases) {
    const ProgramResult result = Run(wrong.arguments);
    EXPECT_EQ(result.exit_code, wrong.exit_code) << wrong.named;
    EXPECT_THAT(result.error, HasSubstr(wrong.named));
  }
  ASSERT_EQ(Run({"partition", "create", "plain", "--order", "18"}).exit_code, 0);
  for (const auto& question :
       std::vector<std::vector<std::string>>{{"dirty"},
                                             {"mappings", "--page", "0"},
                                             {"harvest"},
                                             {"unmap", "--base", "0", "--size", "4K"}}) {
    std::vector<std::string> arguments = question;
    arguments.insert(arguments.end(), {"--partition", "plain"});
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.error, HasSubstr("create it with track_guest_pages"));
  }
}

}  // namespace
}  // namespace papr::client
