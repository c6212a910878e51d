// hptctl dump of a table far too large to be read to its end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{30};

// A table of 2^32 entries, which takes most of an hour to read.
class HptctlDumpTest : public HptctlTest {
 protected:
  void SetUp() override {
    HptctlTest::SetUp();
    ASSERT_EQ(Run({"partition", "create", "huge", "--order", "36"}).exit_code, 0);
  }
  // H_EXACT: the slot is as given, whatever the address hashes to.
  void EnterAt(const std::string& ptex) const {
    const std::vector<std::string> call = {
        "hcall",     "H_ENTER",     "0x8000000000", ptex, "0x4000123456000001",
        "0x1000196", "--partition", "huge"};
    ASSERT_EQ(Run(call).exit_code, 0);
  }
};

TEST_F(HptctlDumpTest, NothingIsReadWhenNothingIsThere) {
  const auto document = RunJson({"dump", "--partition", "huge"});
  EXPECT_EQ(document["order"], 36);
  EXPECT_EQ(document["entries"], nlohmann::json::array());
  EXPECT_THAT(Run({"dump", "--partition", "huge"}).output, HasSubstr("\n0 entries\n"));
}

TEST_F(HptctlDumpTest, ReadingEndsWithTheLastValidEntry) {
  for (const char* ptex : {"0x3", "0x1001", "0x20007"}) EnterAt(ptex);
  const auto entries = RunJson({"dump", "--partition", "huge"})["entries"];
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0]["ptex"], 3);
  EXPECT_EQ(entries[2]["ptex"], 0x20007);
}

TEST_F(HptctlDumpTest, ARangeFindsWhatIsAtTheEnd) {
  EnterAt("0xffffffff");
  const auto entries =
      RunJson({"dump", "--partition", "huge", "--range", "0xfffffff0:0xffffffff"})["entries"];
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["ptex"], 0xffffffff);
}

TEST_F(HptctlDumpTest, ALongOneTellsHowFarItIsAndLeavesNoHalfDocument) {
  EnterAt("0");
  EnterAt("0xffffffff");
  HptctlProcess dump(target_, {"dump", "--partition", "huge", "--json"});
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (dump.Error().empty() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(dump.Error(), HasSubstr("huge: 0%, read up to 0x"));
  EXPECT_THAT(dump.Error(), HasSubstr("1 of the table's 2 valid entries"));
  EXPECT_EQ(Run({"partition", "delete", "huge"}).exit_code, 0);
  const ProgramResult result = dump.Wait();
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.error, HasSubstr("hptctl: "));
}

}  // namespace
}  // namespace papr::client
