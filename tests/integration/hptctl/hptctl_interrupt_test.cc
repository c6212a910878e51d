// hptctl stopped by a signal in the middle of its work.

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

class HptctlInterruptTest : public HptctlTest {
 protected:
  size_t Partitions() const { return RunJson({"partition", "list"})["partitions"].size(); }

  // Starts the command, which works on a partition of its own until it is stopped, and stops it.
  ProgramResult Interrupt(const std::vector<std::string>& arguments, int signal) const {
    HptctlProcess process(target_, arguments);
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (Partitions() == 0 && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    process.Signal(signal);
    return process.Wait();
  }
};

TEST_F(HptctlInterruptTest, AReplayDeletesItsPartition) {
  const std::string trace =
      std::string(TEST_DATA_DIR) + "/conformance/traces/mmap128-6.1-64k.trace.zst";
  std::vector<std::string> replay = {"replay", "--json", "--batch", "1"};
  replay.insert(replay.end(), 500, trace);  // more than anybody waits for
  for (const int signal : {SIGINT, SIGTERM}) {
    const ProgramResult result = Interrupt(replay, signal);
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_THAT(result.error, HasSubstr("interrupted"));
    EXPECT_THAT(result.output, IsEmpty());
    EXPECT_EQ(Partitions(), 0u);
  }
}

TEST_F(HptctlInterruptTest, AnExperimentDeletesItsPartition) {
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const char* transport : {"unary", "batch"}) {
      const ProgramResult result = Interrupt(
          {"experiment", "slot-tracking", "--iterations", "1000000", "--transport", transport},
          signal);
      EXPECT_EQ(result.exit_code, 128 + signal);
      EXPECT_THAT(result.error, HasSubstr("interrupted"));
      EXPECT_THAT(result.output, IsEmpty());
      EXPECT_EQ(Partitions(), 0u);
    }
  }
}

TEST(HptctlLocalInterruptTest, WorkInTheProcessEndsToo) {
  for (const char* platform : {"pseries", "powernv"}) {
    HptctlProcess process("local", {"experiment", "slot-tracking", "--iterations", "1000000",
                                    "--platform", platform});
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (process.Error().empty() && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait().exit_code, 128 + SIGTERM);
  }
}

}  // namespace
}  // namespace papr::client
