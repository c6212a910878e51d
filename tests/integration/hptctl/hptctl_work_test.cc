// hptctl replay and experiment, in the process and against a daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Trace(const std::string& name) {
  return std::string(TEST_DATA_DIR) + "/conformance/traces/" + name + ".trace.zst";
}

class HptctlReplayTest : public HptctlTest {};

TEST_F(HptctlReplayTest, LocalAndRemoteAgree) {
  const auto local = RunJson({"replay", Trace("hugetlb-6.1-64k-16m"), "--target", "local"});
  const auto remote = RunJson({"replay", Trace("hugetlb-6.1-64k-16m"), Trace("kvm-htab-stream")});
  ASSERT_EQ(remote["replays"].size(), 2u);
  const auto& one = remote["replays"][0];
  for (const char* key : {"hcalls", "walks", "entries_compared", "checkpoints", "final_entries"}) {
    EXPECT_EQ(one[key], local["replays"][0][key]) << key;
  }
  EXPECT_EQ(one["mismatches"], 0);
  EXPECT_EQ(one["final_compared"], true);
  EXPECT_EQ(one["target"], target_);
  EXPECT_GT(one["round_trips"], 0);
  EXPECT_EQ(local["replays"][0]["round_trips"], 0);
  EXPECT_EQ(remote["replays"][1]["profile"], "kvm-hv");
  EXPECT_EQ(RunJson({"partition", "list"})["partitions"].size(), 0u) << "a replay cleans up";
}

TEST_F(HptctlReplayTest, OneByOneTakesARoundTripEach) {
  const auto unary = RunJson({"replay", Trace("hugetlb-6.1-64k-16m"), "--batch", "1"});
  const auto& replay = unary["replays"][0];
  EXPECT_EQ(replay["mismatches"], 0);
  EXPECT_GE(replay["round_trips"], replay["hcalls"]);
}

TEST_F(HptctlReplayTest, TextSaysNoMismatches) {
  const ProgramResult result = Run({"replay", Trace("hugetlb-6.1-64k-16m"), "--target", "local"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("533 hcalls"));
  EXPECT_THAT(result.output, HasSubstr("no mismatches"));
}

TEST_F(HptctlReplayTest, AFileThatIsNoTraceIsNamedAndTheOthersArePlayed) {
  const auto document =
      RunJson({"replay", __FILE__, "--no-final", Trace("hugetlb-6.1-64k-16m")}, 4);
  EXPECT_EQ(document["replays"].size(), 1u);
  EXPECT_THAT(Run({"replay", __FILE__, "--no-final"}).error, HasSubstr("hptctl_work_test.cc"));
}

class HptctlExperimentTest : public HptctlTest {
 protected:
  // Rows of one iteration over 16 MB: 256 pages, 64 bulk removals.
  nlohmann::json Rows(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"experiment", "slot-tracking", "--iterations",
                                          "1",          "--megabytes",   "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments)["rows"];
  }
};

TEST_F(HptctlExperimentTest, CountsAndRoundTripsByTransport) {
  const struct {
    std::vector<std::string> arguments;
    const char* transport;
    std::vector<int> round_trips;
  } cases[] = {
      {{"--target", "local"}, "local", {0, 0, 0}},
      {{}, "unary", {320, 576, 320}},
      // The 256 pages go in batches of 192 and 64, each in one round trip.
      {{"--transport", "batch"}, "batch", {258, 514, 258}},
  };
  for (const auto& c : cases) {
    const nlohmann::json rows = Rows(c.arguments);
    ASSERT_EQ(rows.size(), 3u);
    const std::vector<std::string> modes = {"slot", "find", "hash"};
    const std::vector<double> hcalls = {320, 576, 320};
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]["platform"], "pseries");
      EXPECT_EQ(rows[i]["mode"], modes[i]);
      EXPECT_EQ(rows[i]["transport"], c.transport);
      EXPECT_EQ(rows[i]["page_size"], 65536);
      EXPECT_EQ(rows[i]["iterations"], 1);
      EXPECT_EQ(rows[i]["hcalls_per_iteration"], hcalls[i]);
      EXPECT_EQ(rows[i]["round_trips"], c.round_trips[i]);
      EXPECT_EQ(rows[i]["hcalls"]["H_ENTER"], 256);
      EXPECT_GT(rows[i]["seconds"], 0);
    }
    EXPECT_EQ(rows[1]["reads_per_find"], 1.0);
  }
}

TEST_F(HptctlExperimentTest, OneModeAndBareMetal) {
  const nlohmann::json hash = Rows({"--mode", "hash", "--target", "local"});
  ASSERT_EQ(hash.size(), 1u);
  EXPECT_EQ(hash[0]["hcalls"]["H_HASH_BULK_REMOVE"], 64);
  const nlohmann::json direct = Rows({"--platform", "powernv"});
  ASSERT_EQ(direct.size(), 1u);
  EXPECT_EQ(direct[0]["mode"], "direct");
  EXPECT_EQ(direct[0]["round_trips"], 0);
  EXPECT_TRUE(direct[0]["hcalls"].empty());
}

TEST_F(HptctlExperimentTest, LargeCountsKeepAllTheirDigits) {
  // 4 GB in pages of 4 KB: 1048576 H_ENTERs and a bulk removal for every four.
  const ProgramResult result =
      Run({"experiment", "slot-tracking", "--iterations", "1", "--megabytes", "4096", "--page-size",
           "4K", "--mode", "slot", "--target", "local"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr(" 1310720 "));
  EXPECT_THAT(result.output, Not(HasSubstr("e+0")));
}

TEST_F(HptctlExperimentTest, TheTableNamesModesAndHcalls) {
  const ProgramResult result =
      Run({"experiment", "slot-tracking", "--iterations", "1", "--target", "local"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (const char* text : {"slot", "find", "hash", "2560", "4608", "H_HASH_BULK_REMOVE 512"}) {
    EXPECT_THAT(result.output, HasSubstr(text));
  }
}

}  // namespace
}  // namespace papr::client
