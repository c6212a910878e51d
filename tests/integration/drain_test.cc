// The daemon's end while clients are there: what becomes of their calls, and how soon it ends.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "hcall/abi.h"
#include "tests/integration/child_daemon.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/silent_peer.h"

namespace papr::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kAnyPort[] = "--listen=127.0.0.1:0";
constexpr char kNoMetrics[] = "--metrics_listen=";

std::shared_ptr<grpc::Channel> Connect(const ChildDaemon& daemon) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel(daemon.Listening("grpc"), grpc::InsecureChannelCredentials(),
                                   arguments);
}

// Scans of "p", each on a thread of its own, that have begun or wait when this is made.
class Scans {
 public:
  Scans(const std::shared_ptr<grpc::Channel>& channel, int count)
      : stub_(v1::PartitionService::NewStub(channel)) {
    v1::GetHptStatisticsRequest request;
    request.set_name("p");
    request.set_digest(true);
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, request] {
        if (Call(*stub_, &Partitions::GetHptStatistics, request).status.ok()) ++answered_;
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  ~Scans() { Answered(); }

  // Waits for the end of all.
  int Answered() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return answered_;
  }

 private:
  const std::unique_ptr<Partitions> stub_;
  std::atomic<int> answered_{0};
  std::vector<std::thread> threads_;
};

TEST(DrainTest, NoCallThatWasSentIsCutOff) {
  ChildDaemon daemon({kAnyPort, kNoMetrics, "--partition=name=p,order=18,ram=0:64M"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  constexpr int kConnections = 4;
  constexpr int kCallersEach = 8;
  std::atomic<int> answered{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < kConnections; ++c) {
    const auto channel = Connect(daemon);
    for (int i = 0; i < kCallersEach; ++i) {
      callers.emplace_back([&, channel] {
        const auto stub = v1::HcallService::NewStub(channel);
        const v1::HcallRequest request = HcallOf("p", hcall::kHRead, {0, 0});
        // Goes on when it is refused, as a client does that retries, until nobody listens.
        grpc::Status status;
        do {
          grpc::ClientContext context;
          v1::HcallResponse response;
          status = stub->Hcall(&context, request, &response);
          if (status.ok()) {
            ++answered;
            continue;
          }
          ASSERT_EQ(status.error_code(), grpc::UNAVAILABLE) << status.error_message();
          ++refused;
        } while (status.ok() ||
                 status.error_message().find("nothing was executed") != std::string::npos);
      });
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  daemon.Signal(SIGTERM);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_GT(answered, 0);
  EXPECT_GE(refused, kConnections * kCallersEach);
}

TEST(DrainTest, IdlePeersDoNotHoldItUp) {
  constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
  ChildDaemon daemon({kAnyPort, kNoMetrics, "--drain_timeout=60s"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const SilentPeer nothing(daemon.Listening("grpc"), "");
  const SilentPeer preface(daemon.Listening("grpc"), std::string(kPreface, sizeof(kPreface) - 1));
  const OpenStream watch(Connect(daemon));
  const OpenStream reflection(Connect(daemon), OpenStream::kReflection);
  const auto start = Clock::now();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

class LongCallDrainTest : public ::testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> Start(const std::string& drain_timeout) {
    daemon_ = std::make_unique<ChildDaemon>(
        std::vector<std::string>{kAnyPort, kNoMetrics, "--drain_timeout=" + drain_timeout,
                                 "--partition=name=p,order=32,ram=0:64M"});
    EXPECT_TRUE(daemon_->WaitUntilReady());
    auto channel = Connect(*daemon_);
    SpreadEntries(*v1::HcallService::NewStub(channel), "p", 8000);
    return channel;
  }

  std::unique_ptr<ChildDaemon> daemon_;
};

TEST_F(LongCallDrainTest, LongCallsEndBeforeIt) {
  constexpr int kScans = 4;
  Scans scans(Start("60s"), kScans);
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(scans.Answered(), kScans);
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(LongCallDrainTest, DrainTimeoutEndsWhatDoesNotEnd) {
  constexpr int kScans = 200;
  Scans scans(Start("500ms"), kScans);
  const auto start = Clock::now();
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  EXPECT_LT(scans.Answered(), kScans);
}

TEST_F(LongCallDrainTest, ASecondSignalEndsItAtOnce) {
  constexpr int kScans = 200;
  Scans scans(Start("1h"), kScans);
  daemon_->Signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 128 + SIGTERM);
  EXPECT_LT(scans.Answered(), kScans);
}

}  // namespace
}  // namespace papr::server
