// hptctl conformance, in the process, against a daemon and through an adapter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HptctlConformanceTest : public HptctlTest {
 protected:
  // A file of this test, with `text` in it if it is not empty.
  static std::string File(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "hptctl-conformance-" + name;
    if (!text.empty()) std::ofstream(path) << text;
    return path;
  }
  static std::string ReadAndRemove(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    return text.str();
  }
};

constexpr char kWrong[] =
    "case it is wrong on <purpose>\n"
    "  profiles kvm-hv papr\n"
    "  H_ENTER 0 0 0x1f81 0xfff012\n"
    "    -> H_PTEG_FULL r4=0x7\n"
    "case it is right\n"
    "  H_READ 0 0xffffffffffffffff\n"
    "    -> H_PARAMETER\n";

TEST_F(HptctlConformanceTest, TheBuiltInVectorsHoldInTheProcessAndAtADaemon) {
  const auto local = RunJson({"conformance", "--target", "local"});
  const auto remote = RunJson({"conformance"});
  ASSERT_EQ(local["runs"].size(), 2u);
  EXPECT_EQ(local["runs"][0]["column"], "kvm-hv");
  EXPECT_EQ(local["runs"][1]["column"], "qemu-tcg");
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(local["runs"][i]["passed"], 150);
    EXPECT_EQ(local["runs"][i]["failed"], 0);
    EXPECT_EQ(local["runs"][i]["skipped"], 0);
    EXPECT_EQ(remote["runs"][i]["passed"], local["runs"][i]["passed"]);
  }
  EXPECT_EQ(RunJson({"partition", "list"})["partitions"].size(), 0u) << "a run cleans up";
}

TEST_F(HptctlConformanceTest, WhatDiffersIsDecodedAndTheExitCodeIs1) {
  const std::string script = File("wrong.hcalls", kWrong);
  const std::string junit = File("wrong.xml", "");
  const ProgramResult result =
      Run({"conformance", "--profile", "kvm-hv", "--junit", junit, script});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("wrong.hcalls:1: it is wrong on <purpose> [kvm-hv]: failed"),
                    HasSubstr("line 4: H_ENTER 0 0 0x1f81 0xfff012: expected H_PTEG_FULL (-6), got "
                              "H_SUCCESS (0)"),
                    HasSubstr("expected r4 0x7, got 0x0 [H_ENTER v=0x1f81 r=0xfff012]"),
                    HasSubstr("kvm-hv: 1 cases passed, 1 failed, 0 skipped")));
  EXPECT_THAT(
      ReadAndRemove(junit),
      AllOf(HasSubstr("<testsuite name=\"kvm-hv\" tests=\"2\" failures=\"1\""),
            HasSubstr("name=\"it is wrong on &lt;purpose&gt;\""),
            HasSubstr("<testsuites tests=\"2\" failures=\"1\">"),
            HasSubstr("<failure message=\"line 4: H_ENTER 0 0 0x1f81 0xfff012: expected ")));

  const auto document = RunJson({"conformance", "--profile", "kvm-hv", script}, 1);
  const auto& cases = document["runs"][0]["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["outcome"], "failed");
  EXPECT_EQ(cases[0]["failures"].size(), 2u);
  EXPECT_EQ(cases[0]["answers"][0]["return_code"], 0);
  EXPECT_EQ(cases[0]["answers"][0]["opcode"], "0x8");
  EXPECT_EQ(cases[0]["answers"][0]["arguments"][3], "0xfff012");
  EXPECT_EQ(cases[0]["answers"][0]["registers"][2], "0x1f81");
  EXPECT_EQ(cases[1]["outcome"], "passed");
  ReadAndRemove(script);
}

TEST_F(HptctlConformanceTest, AnAdapterSaysWhoseAnswersItGives) {
  const std::string script = File("adapter.hcalls", kWrong);
  const std::string adapter =
      "while read -r verb rest; do case $verb in hello) echo 'ok papr box 9' ;; create) echo ok ;; "
      "*) echo \"ok -4 ${rest#* }\" ;; esac; done";
  const ProgramResult result = Run({"conformance", "--adapter", adapter, "--verbose", script});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("it is right [papr]: passed"),
                                   HasSubstr("papr: 1 cases passed, 1 failed, 0 skipped")));
  EXPECT_EQ(RunJson({"conformance", "--adapter", adapter, script}, 1)["target"], "box 9");
  ReadAndRemove(script);
}

TEST_F(HptctlConformanceTest, TheAdapterInTheReadmeIsOne) {
  std::stringstream text;
  text << std::ifstream(std::string(TEST_DATA_DIR) + "/conformance/README.md").rdbuf();
  const std::string readme = text.str();
  const size_t begin = readme.find("while read -r request");
  const size_t end = readme.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const ProgramResult result =
      Run({"conformance", "--adapter", readme.substr(begin, end - begin), "--filter", "general"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("got H_FUNCTION (-2)"));
  EXPECT_THAT(result.error, testing::Not(HasSubstr("expected ok")));
}

TEST_F(HptctlConformanceTest, AnAdapterThatEndsStopsTheRun) {
  const ProgramResult result =
      Run({"conformance", "--adapter", "read -r x; echo ok kvm box; read -r x"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.error, AllOf(HasSubstr("the adapter"), HasSubstr("exit status")));
  EXPECT_EQ(Run({"conformance", "--adapter", "exec /does/not/exist"}).exit_code, 3);
  // Also in the last case.
  const std::string script = File("last.hcalls", "case a\n  H_READ 0 0\n    -> H_SUCCESS\n");
  EXPECT_EQ(
      Run({"conformance", "--adapter", "read -r x; echo ok kvm box; read -r x; echo ok", script})
          .exit_code,
      3);
  ReadAndRemove(script);
}

TEST_F(HptctlConformanceTest, AFilterChoosesCases) {
  const std::string script = File("filter.hcalls", kWrong);
  const ProgramResult result = Run(
      {"conformance", "--profile", "kvm-hv", "--filter", "filter.hcalls: it is right$", script});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("kvm-hv: 1 cases passed, 0 failed"));
  const ProgramResult none = Run({"conformance", "--filter", "no such case", script});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.error, HasSubstr("no case is left to run"));
  EXPECT_EQ(Run({"conformance", "--filter", "(", script}).exit_code, 2);
  ReadAndRemove(script);
}

TEST_F(HptctlConformanceTest, ARunInWhichEverythingIsSkippedIsNoSuccess) {
  const ProgramResult result =
      Run({"conformance", "--adapter",
           "read -r x; echo ok papr box; while read -r x; do echo unsupported; done"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("papr: 0 cases passed, 0 failed, "),
                                   HasSubstr(": no reason given\n")));
  EXPECT_THAT(result.error, HasSubstr("every case was skipped"));
}

TEST_F(HptctlConformanceTest, JUnitIsXmlWhateverTheMessages) {
  const std::string script =
      File("odd.hcalls", "case \001 \377 \"&\n  H_READ 0 0\n    -> H_BUSY\n");
  const std::string junit = File("odd.xml", "");
  EXPECT_EQ(Run({"conformance", "--profile", "kvm-hv", "--junit", junit, script}).exit_code, 1);
  EXPECT_THAT(ReadAndRemove(junit), HasSubstr("name=\"? \xef\xbf\xbd &quot;&amp;\""));
  ReadAndRemove(script);
}

TEST_F(HptctlConformanceTest, ASignalEndsARunWhoseAdapterHangs) {
  HptctlProcess hptctl(target_,
                       {"conformance", "--adapter", "read -r x; echo ok kvm box; exec sleep 1000"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  hptctl.Signal(SIGTERM);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(hptctl.Wait().exit_code, 128 + SIGTERM);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(HptctlConformanceTest, MistakesAreNamed) {
  EXPECT_EQ(Run({"conformance", "--profile", "power"}).exit_code, 2);
  EXPECT_EQ(Run({"conformance", "--adapter", ""}).exit_code, 2);
  EXPECT_EQ(Run({"conformance", std::string(300, 'x')}).exit_code, 4);
  const ProgramResult empty = Run({"conformance", "/dev/null"});
  EXPECT_EQ(empty.exit_code, 4);
  EXPECT_THAT(empty.error, HasSubstr("/dev/null: no case in it"));
  const ProgramResult not_served = Run({"conformance", "--profile", "papr"});
  EXPECT_EQ(not_served.exit_code, 2);
  EXPECT_THAT(not_served.error, HasSubstr("hptd serves kvm-hv and qemu-tcg"));
  const ProgramResult missing = Run({"conformance", "no-such.hcalls"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.error, HasSubstr("no such file: no-such.hcalls"));
  const std::string malformed = File("malformed.hcalls", "case x\n  H_NONE 1\n");
  const ProgramResult result = Run({"conformance", malformed});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.error, HasSubstr("malformed.hcalls: line 2: 'H_NONE' is no step"));
  EXPECT_THAT(result.output, IsEmpty());
  ReadAndRemove(malformed);
  // A script is malformed for one profile: nothing of the other is run.
  const std::string half = File("half.hcalls", "case x\n  H_READ 0 0\n  kvm-hv: -> H_SUCCESS\n");
  const ProgramResult half_result = Run({"conformance", half});
  EXPECT_EQ(half_result.exit_code, 4);
  EXPECT_THAT(half_result.error, HasSubstr("line 2: hcall without '->' for qemu-tcg"));
  EXPECT_THAT(half_result.output, IsEmpty());
  ReadAndRemove(half);
  const ProgramResult unwritable =
      Run({"conformance", "--target", "local", "--junit", "/does/not/exist.xml"});
  EXPECT_EQ(unwritable.exit_code, 4);
  EXPECT_THAT(unwritable.error, HasSubstr("cannot write /does/not/exist.xml"));
  const ProgramResult unreachable = Run({"conformance", "--target", "unix:/does/not/exist"});
  EXPECT_EQ(unreachable.exit_code, 3);
  EXPECT_THAT(unreachable.error, HasSubstr("/does/not/exist"));
}

}  // namespace
}  // namespace papr::client
