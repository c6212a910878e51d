// hptctl partition, hcall, dump and check against a daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HptctlPartitionTest : public HptctlTest {
 protected:
  void Create(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"partition", "create", "lpar1", "--order", "18"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ASSERT_EQ(Run(arguments).exit_code, 0);
  }
  ProgramResult Hcall(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "hcall");
    arguments.insert(arguments.end(), {"--partition", "lpar1"});
    return Run(arguments);
  }
};

// A 4K page of VSID 0x123456 in a 1 TB segment, offset 0x656000: PTEG 0x200 of an order-18 table.
constexpr char kV[] = "0x4000123456000001";
constexpr char kAvpn[] = "0x4000123456000000";
constexpr char kR[] = "0x1000196";

TEST_F(HptctlPartitionTest, CreateListShowResetDelete) {
  Create({"--ram", "0:1G", "--ram", "4G:512M", "--io", "0x10000000000:64K"});
  const auto list = RunJson({"partition", "list"});
  ASSERT_EQ(list["partitions"].size(), 1u);
  EXPECT_EQ(list["partitions"][0]["name"], "lpar1");
  EXPECT_EQ(list["partitions"][0]["order"], 18);
  EXPECT_THAT(Run({"partition", "list"}).output, AllOf(HasSubstr("lpar1"), HasSubstr("order 18")));

  const auto show = RunJson({"partition", "show", "lpar1"});
  EXPECT_EQ(show["config"]["memory"].size(), 3u);
  EXPECT_EQ(show["device_tree"]["pft_size"][1], 18);
  EXPECT_EQ(show["statistics"]["valid"], "0");
  EXPECT_THAT(Run({"partition", "show", "lpar1"}).output,
              AllOf(HasSubstr("hcall-bulk"), HasSubstr("0x10000000000"), HasSubstr("digest: 0x0")));

  EXPECT_EQ(RunJson({"partition", "reset", "lpar1", "--order", "20"})["order"], 20);
  EXPECT_EQ(RunJson({"partition", "reset", "lpar1"})["order"], 18);
  EXPECT_EQ(RunJson({"partition", "delete", "lpar1"})["deleted"], "lpar1");
  EXPECT_EQ(RunJson({"partition", "list"})["partitions"].size(), 0u);
}

TEST_F(HptctlPartitionTest, RefusalsGiveFourAndTheRemedy) {
  Create();
  const ProgramResult again = Run({"partition", "create", "lpar1"});
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_THAT(again.error, AllOf(HasSubstr("lpar1"), HasSubstr("choose another name")));
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"partition", "show", "none"},
                                             {"partition", "delete", "none"},
                                             {"partition", "reset", "none"},
                                             {"dump", "--partition", "none"},
                                             {"check", "--partition", "none"},
                                             {"hcall", "H_READ", "--partition", "none"}}) {
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.error, AllOf(HasSubstr("none"), HasSubstr("hptctl partition list")));
  }
  EXPECT_EQ(Run({"partition", "create", "-x y"}).exit_code, 2);
}

TEST_F(HptctlPartitionTest, TheSpecificationSetsEverythingElse) {
  Create({"--spec", "profile=qemu-tcg,no-bulk-remove", "--processor", "power9"});
  const auto show = RunJson({"partition", "show", "lpar1"});
  EXPECT_EQ(show["config"]["profile"], "PROFILE_QEMU_TCG");
  EXPECT_EQ(show["config"]["processor"], "PROCESSOR_POWER9");
  EXPECT_EQ(Hcall({"H_BULK_REMOVE"}).exit_code, 1);
  EXPECT_THAT(Hcall({"H_BULK_REMOVE"}).output, HasSubstr("H_FUNCTION (-2)"));
}

TEST_F(HptctlPartitionTest, HcallsShowTheirResultsDecoded) {
  Create();
  const ProgramResult entered = Hcall({"H_ENTER", "0", "0x1000", kV, kR});
  EXPECT_EQ(entered.exit_code, 0);
  EXPECT_THAT(entered.output,
              AllOf(HasSubstr("H_SUCCESS (0)"), HasSubstr("entered at ptex 0x1000")));

  const auto read = RunJson({"hcall", "read", "0", "0x1000", "--partition", "lpar1"});
  EXPECT_EQ(read["hcall"], "H_READ");
  EXPECT_EQ(read["return_code"], 0);
  EXPECT_EQ(read["return_name"], "H_SUCCESS");
  EXPECT_EQ(read["outputs"], nlohmann::json({kV, kR}));
  const auto& entry = read["decoded"][0];
  EXPECT_EQ(entry["ptex"], 0x1000);
  EXPECT_EQ(entry["valid"], true);
  EXPECT_EQ(entry["segment"], "1T");
  EXPECT_EQ(entry["vsid"], "0x123456");
  EXPECT_EQ(entry["base_page"], "4K");
  EXPECT_EQ(entry["real_address"], "0x1000000");
  EXPECT_EQ(entry["pp"], 2);
  EXPECT_EQ(entry["no_execute"], true);
  EXPECT_EQ(entry["referenced"], true);
  EXPECT_EQ(entry["changed"], true);
  EXPECT_EQ(entry["wimg"], "--M-");
  EXPECT_EQ(entry["bolted"], false);

  const auto four = RunJson({"hcall", "0xc", "0x2000000000", "0x1001", "--partition", "lpar1"});
  ASSERT_EQ(four["decoded"].size(), 4u);
  EXPECT_EQ(four["decoded"][1]["valid"], false);
  EXPECT_TRUE(four["decoded"][1]["vpn"].is_null());

  const ProgramResult bulk = Hcall({"H_BULK_REMOVE", "0x4200000000001000", kAvpn,
                                    "0x4200000000001001", kAvpn, "0xc000000000000000"});
  EXPECT_EQ(bulk.exit_code, 0);
  EXPECT_THAT(bulk.output, AllOf(HasSubstr("0x1000 removed, R, C"), HasSubstr("0x1001 not found"),
                                 HasSubstr("end")));

  const ProgramResult gone = Hcall({"H_REMOVE", "0", "0x1000"});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(gone.output, HasSubstr("H_NOT_FOUND (-7)"));
  EXPECT_THAT(Hcall({"H_READ", "--problem-state"}).output, HasSubstr("H_PRIVILEGE"));
  EXPECT_THAT(Hcall({"0xdead0"}).output, HasSubstr("H_FUNCTION"));
}

TEST_F(HptctlPartitionTest, DumpShowsWhatIsThere) {
  Create();
  ASSERT_EQ(Hcall({"H_ENTER", "0", "0x1000", kV, kR}).exit_code, 0);
  ASSERT_EQ(
      Hcall({"H_ENTER", "0x8000000000", "0x2005", "0x4000123456000013", "0x2000116"}).exit_code, 0);
  const ProgramResult text = Run({"dump", "--partition", "lpar1"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("4000123456000001"), HasSubstr("bolted secondary"),
                                 HasSubstr("2 entries")));

  const auto all = RunJson({"dump", "--partition", "lpar1"});
  ASSERT_EQ(all["entries"].size(), 2u);
  EXPECT_EQ(all["order"], 18);
  EXPECT_EQ(all["entries"][1]["ptex"], 0x2005);
  EXPECT_EQ(all["entries"][1]["bolted"], true);
  EXPECT_EQ(all["entries"][1]["secondary"], true);

  const auto range = RunJson({"dump", "--partition", "lpar1", "--range", "0x1001:0x2005"});
  ASSERT_EQ(range["entries"].size(), 1u);
  const auto every = RunJson({"dump", "--partition", "lpar1", "--all", "--range", "0x1001:0x1006"});
  ASSERT_EQ(every["entries"].size(), 6u);
  EXPECT_EQ(every["entries"][0]["ptex"], 0x1001);
  EXPECT_EQ(Run({"dump", "--partition", "lpar1", "--range", "0:0x4000"}).exit_code, 2);
  EXPECT_EQ(Run({"dump", "--partition", "lpar1", "--range", "5:4"}).exit_code, 2);
}

TEST_F(HptctlPartitionTest, CheckNamesFaultsAndAnswersNo) {
  Create();
  EXPECT_EQ(RunJson({"check", "--partition", "lpar1"})["faults"], 0);
  // C without R is one fault whatever the place; the wrong PTEG another.
  ASSERT_EQ(Hcall({"H_ENTER", "0x8000000000", "0x1000", kV, "0x1000096"}).exit_code, 0);
  const auto report = RunJson({"check", "--partition", "lpar1"}, 1);
  EXPECT_EQ(report["valid"], 1);
  EXPECT_GE(report["faults"], 1);
  EXPECT_EQ(report["findings"][0]["ptex"], 0x1000);
  const ProgramResult text = Run({"check", "--partition", "lpar1"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.output, AllOf(HasSubstr("ptex 0x1000: "), HasSubstr("1 valid entries")));
}

}  // namespace
}  // namespace papr::client
