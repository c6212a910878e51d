// What a caller is told when there is no daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/connection.h"
#include "client/health.h"
#include "client/machine.h"
#include "client/remote_hypervisor.h"

namespace papr::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kNobody[] = "unix:/nonexistent/hptd.sock";

TEST(ConnectionTest, AddressesHaveAPort) {
  for (const char* good :
       {"127.0.0.1:50051", "[::1]:1", "host:1", "host:65535", "unix:/run/x", "/run/x"}) {
    EXPECT_TRUE(Connection::CheckAddress(good).ok()) << good;
  }
  for (const char* bad :
       {"", "localhost", ":50051", "host:", "unix:", "host:0", "host:65536", "127.0.0.1:99999",
        "host:http", "host:+1", "host:1 ", "::1", "fe80::1:50051", "[]:1", "[::1]", "[::1]x:1",
        "dns:///host:1", "host:99999999999999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Connection::CheckAddress(bad))) << bad;
  }
}

TEST(ConnectionTest, NobodyThereIsSaidWithTheAddress) {
  const auto connection = Connection::Open(kNobody);
  ASSERT_TRUE(connection.ok());
  RemoteHypervisor hypervisor(*connection, "lpar1");
  const auto result = hypervisor.Hcall(MakeHcall(hcall::kHRead, {0, 0}));
  EXPECT_TRUE(absl::IsUnavailable(result.status())) << result.status();
  EXPECT_THAT(std::string(result.status().message()),
              AllOf(HasSubstr(std::string("cannot reach hptd at ") + kNobody),
                    HasSubstr("is it running?")));
  EXPECT_EQ(hypervisor.round_trips(), 0u);
  EXPECT_TRUE(absl::IsUnavailable(CheckHealth(**connection).status()));
}

TEST(CreateMachineTest, NobodyThereIsAnErrorNotAWait) {
  hcall::PartitionConfig config;
  config.order = 18;
  config.memory = {{0, uint64_t{1} << 30, hcall::MemoryRegion::Kind::kRam}};
  EXPECT_TRUE(absl::IsUnavailable(CreateMachine(kNobody, "x", config).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateMachine("nonsense", "x", config).status()));
}

TEST(CreateMachineTest, LocalConfigurationsAreChecked) {
  hcall::PartitionConfig config;
  config.order = 17;
  EXPECT_TRUE(absl::IsInvalidArgument(CreateMachine(kLocalTarget, "x", config).status()));
}

}  // namespace
}  // namespace papr::client
