// The daemon as a process: its command line, what it prints, how it ends.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "hcall/abi.h"
#include "tests/integration/child_daemon.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/scrape.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/silent_peer.h"

namespace papr::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr char kAnyPort[] = "--listen=127.0.0.1:0";
constexpr char kNoMetrics[] = "--metrics_listen=";

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
}

std::string TemporaryPath(const std::string& name) {
  return ::testing::TempDir() + "hptd_" + std::to_string(getpid()) + "_" + name;
}

v1::Partition MustGet(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  const auto stub = v1::PartitionService::NewStub(channel);
  v1::GetPartitionRequest request;
  request.set_name(name);
  const auto reply = Call(*stub, &Partitions::GetPartition, request);
  EXPECT_TRUE(reply.status.ok()) << name << ": " << reply.status.error_message();
  return reply.response.partition();
}

// Starts with what must be refused.
void ExpectRefused(std::vector<std::string> arguments, const std::string& message) {
  ChildDaemon daemon(std::move(arguments));
  EXPECT_FALSE(daemon.WaitUntilReady());
  EXPECT_EQ(daemon.Wait(), 1);
  EXPECT_THAT(daemon.error(), HasSubstr(message));
  EXPECT_EQ(daemon.output(), "");
}

TEST(DaemonTest, PrintsTheAddressesItListensOnAndDrainsOnSigterm) {
  const std::string socket = TemporaryPath("socket");
  ChildDaemon daemon({"--listen=127.0.0.1:0,127.0.0.1:0", "--listen=localhost:0",
                      "--unix_socket=" + socket, "--metrics_listen=127.0.0.1:0"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  EXPECT_THAT(daemon.output(),
              MatchesRegex("listening grpc 127.0.0.1:[1-9][0-9]*\n"
                           "listening grpc 127.0.0.1:[1-9][0-9]*\n"
                           "listening grpc localhost:[1-9][0-9]*\n"
                           "listening unix " +
                           socket +
                           "\n"
                           "listening metrics http://127.0.0.1:[1-9][0-9]*/metrics\n"
                           "ready\n"));
  EXPECT_EQ(HealthOf(Connect(daemon.Listening("grpc")), ""), "\x08\x01");
  EXPECT_EQ(HealthOf(Connect("unix:" + socket), ""), "\x08\x01");
  EXPECT_THAT(HttpGet(daemon.Listening("metrics")), HasSubstr("hptd_partitions 0"));
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_THAT(daemon.error(), HasSubstr("event=draining"));
  EXPECT_THAT(daemon.error(), HasSubstr("event=stopped"));
  struct stat info {};
  EXPECT_NE(stat(socket.c_str(), &info), 0) << "the socket's file is left";
}

TEST(DaemonTest, SigintDrainsAsWell) {
  ChildDaemon daemon({kAnyPort, kNoMetrics});
  ASSERT_TRUE(daemon.WaitUntilReady());
  daemon.Signal(SIGINT);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST(DaemonTest, FinishesWhatIsInFlightAndTellsThatItGoes) {
  ChildDaemon daemon({kAnyPort, kNoMetrics, "--partition=name=p,order=18,ram=0:64M"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const auto stub = v1::HcallService::NewStub(Connect(daemon.Listening("grpc")));
  v1::HcallBatchRequest batch;
  batch.set_partition("p");
  for (int i = 0; i < 4096; ++i) AddHcall(batch, hcall::kHRead, {0, 0});
  grpc::Status status;
  std::thread signal([&daemon] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    daemon.Signal(SIGTERM);
  });
  int whole = 0;
  do {  // each call is answered whole, until one is not taken any more
    grpc::ClientContext context;
    v1::HcallBatchResponse response;
    status = stub->HcallBatch(&context, batch, &response);
    if (status.ok()) {
      ++whole;
      EXPECT_EQ(response.results_size(), 4096);
    }
  } while (status.ok());
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE) << status.error_message();
  EXPECT_GT(whole, 0);
  signal.join();
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST(DaemonTest, RefusesAddressesThatOthersReach) {
  for (const std::string address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:50051", "example.com:1"}) {
    ExpectRefused({"--listen=" + address, kNoMetrics}, "--insecure");
  }
  ExpectRefused({kAnyPort, "--metrics_listen=0.0.0.0:0"}, "--metrics_listen=0.0.0.0:0");
  ChildDaemon daemon({"--listen=0.0.0.0:0", kNoMetrics, "--insecure"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  EXPECT_THAT(daemon.Listening("grpc"), MatchesRegex("0.0.0.0:[1-9][0-9]*"));
}

TEST(DaemonTest, NamesAnAddressThatIsInUse) {
  ChildDaemon daemon({kAnyPort, "--metrics_listen=127.0.0.1:0"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const std::string taken = daemon.Listening("grpc");
  ExpectRefused({"--listen=" + taken, kNoMetrics},
                "cannot listen on " + taken + ": Address already in use");
  const std::string url = daemon.Listening("metrics");
  const std::string metrics = url.substr(7, url.rfind('/') - 7);
  ExpectRefused({kAnyPort, "--metrics_listen=" + metrics},
                "cannot listen on " + metrics + ": Address already in use");
}

TEST(DaemonTest, TakesOverASocketFileOnlyFromTheDead) {
  const std::string path = TemporaryPath("stale");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);  // the file stays
  {
    ChildDaemon daemon({"--listen=", kNoMetrics, "--unix_socket=" + path});
    ASSERT_TRUE(daemon.WaitUntilReady());
    ExpectRefused({"--listen=", kNoMetrics, "--unix_socket=" + path},
                  path + ": another process listens on it");
    EXPECT_EQ(HealthOf(Connect("unix:" + path), ""), "\x08\x01");
  }
  std::remove(path.c_str());
  std::ofstream(path) << "precious";
  ExpectRefused({"--listen=", kNoMetrics, "--unix_socket=" + path}, "is not a socket");
  std::remove(path.c_str());
  ExpectRefused({"--listen=", kNoMetrics, "--unix_socket=/tmp/" + std::string(200, 'x')},
                "longer than 107 bytes");
  ExpectRefused(
      {"--listen=", kNoMetrics, "--unix_socket=/nonexistent/socket"},
      "hptd: cannot listen on unix:/nonexistent/socket: /nonexistent: No such file or directory\n");
}

TEST(DaemonTest, CreatesPartitions) {
  const std::string file = TemporaryPath("partitions");
  std::ofstream(file) << "# two more\n\n"
                         "name=b,order=20,ram=0:256M,profile=qemu-tcg  # the second\n"
                         "  name=c,mmu=radix\n";
  ChildDaemon daemon({kAnyPort, kNoMetrics, "--partition=name=a,order=19,ram=0:128M,ram=4G:64M",
                      "--partition", "name=d,ram=0:512M,order=24,no-hash",
                      "--partition_file=" + file});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const auto channel = Connect(daemon.Listening("grpc"));
  const v1::Partition a = MustGet(channel, "a");
  EXPECT_EQ(a.order(), 19U);
  EXPECT_EQ(a.config().memory_size(), 2);
  EXPECT_EQ(a.config().memory(1).base(), uint64_t{4} << 30);
  EXPECT_EQ(MustGet(channel, "b").config().profile(), v1::PROFILE_QEMU_TCG);
  EXPECT_EQ(MustGet(channel, "c").config().mmu(), v1::MMU_KIND_RADIX);
  EXPECT_FALSE(MustGet(channel, "d").config().features().hash());
  std::remove(file.c_str());
}

TEST(DaemonTest, RefusesBadPartitions) {
  ExpectRefused({kAnyPort, kNoMetrics, "--partition=name=x,order=17"}, "order");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition=name=x,colour=red"}, "colour");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition=order=20"}, "name");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition=name=x,order=20,ram=0:64M",
                 "--partition=name=x,order=20,ram=0:64M"},
                "hptd: --partition: name=x: partition \"x\" exists");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition=name=other,order=20,ram=0:64M"},
                "reserved for metrics");
  ExpectRefused(
      {kAnyPort, kNoMetrics, "--max_hpt_bytes=1M", "--partition=name=x,order=21,ram=0:64M"},
      "--max_hpt_bytes=1048576");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition_file=/nonexistent"},
                "--partition_file: cannot read /nonexistent");
  const std::string file = TemporaryPath("bad_partitions");
  std::ofstream(file) << "# fine so far\nname=x,order=99\n";
  ExpectRefused({kAnyPort, kNoMetrics, "--partition_file=" + file}, file + ":2");
  std::ofstream(file) << "name=x,mmu=radix\n# twice\nname=x,mmu=radix\n";
  ExpectRefused({kAnyPort, kNoMetrics, "--partition_file=" + file},
                file + ":3: name=x: partition \"x\" exists");
  std::ofstream(file) << "\nname=x,order=21,ram=0:64M\n";
  ExpectRefused({kAnyPort, kNoMetrics, "--max_hpt_bytes=1M", "--partition_file=" + file},
                file + ":2: name=x: too many bytes of page tables");
  ExpectRefused({kAnyPort, kNoMetrics, "--partition_file=/dev/zero"},
                "--partition_file: /dev/zero is larger than 16777216 bytes");
  std::remove(file.c_str());
}

TEST(DaemonTest, RefusesBadFlags) {
  ExpectRefused({"--bogus"}, "bogus");
  ExpectRefused({"--log_level=loud"}, "log_level");
  ExpectRefused({"--max_hpt_bytes=much"}, "max_hpt_bytes");
  ExpectRefused({"--max_batch_hcalls=0"}, "--max_batch_hcalls");
  ExpectRefused({"--drain_timeout=-1s"}, "--drain_timeout");
  ExpectRefused({"argument"}, "unexpected argument \"argument\"");
  ExpectRefused({"--listen=", kNoMetrics}, "--listen");
  for (const std::string address : {"nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                    "127.0.0.1:-1", ":1", "::1:1", "unix:/x", "127.0.0.1:1,,"}) {
    ExpectRefused({"--listen=" + address}, "HOST:PORT");
  }
}

TEST(DaemonTest, VersionAndHelp) {
  ChildDaemon version({"--version"});
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_THAT(version.output(), MatchesRegex("hptd [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  ChildDaemon help({"--help"});
  EXPECT_EQ(help.Wait(), 0);
  for (const char* flag :
       {"--listen", "--unix_socket", "--metrics_listen", "--partition", "--partition_file",
        "--log_level", "--insecure", "--max_partitions", "--max_hpt_bytes", "--max_batch_hcalls",
        "--max_message_bytes", "--drain_timeout", "--metrics_max_partitions"}) {
    EXPECT_THAT(help.output(), HasSubstr(flag));
  }
  EXPECT_THAT(help.output(), HasSubstr("hashed page tables"));
}

TEST(DaemonTest, AStandardOutputThatTakesNothingEndsIt) {
  ChildDaemon daemon({kAnyPort, kNoMetrics}, "/dev/full");
  EXPECT_EQ(daemon.Wait(), 1);
  EXPECT_THAT(daemon.error(), HasSubstr("level=error event=announce_failed error=\"No space left"));
}

TEST(DaemonTest, UnfinishedHttpRequestsHoldNeitherAScrapeNorTheEndUp) {
  ChildDaemon daemon({kAnyPort, "--metrics_listen=127.0.0.1:0"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const std::string url = daemon.Listening("metrics");
  const std::string target = url.substr(7, url.rfind('/') - 7);
  auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::unique_ptr<SilentPeer>> unfinished;
    for (int i = 0; i < 4; ++i) {
      unfinished.push_back(
          std::make_unique<SilentPeer>(target, "GET /metrics HTTP/1.1\r\nHost: x"));
    }
    EXPECT_THAT(HttpGet(url), HasSubstr("hptd_partitions 0"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  }
  start = std::chrono::steady_clock::now();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
}

TEST(DaemonTest, LogsUndecodableRequestsAsStructuredLinesAndFewOfThem) {
  ChildDaemon daemon({kAnyPort, kNoMetrics});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const auto channel = Connect(daemon.Listening("grpc"));
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i)
    RawUnary(channel, "/papr.mmu.v1.HcallService/Hcall", "\x0a\x02\xff\xff");
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(daemon.error(), '\n', absl::SkipEmpty())) {
    EXPECT_EQ(line.substr(0, 3), "ts=") << line;
    lines += absl::StrContains(line, "event=protobuf");
  }
  EXPECT_GT(lines, 0);
  EXPECT_LT(lines, kCalls / 4);
}

TEST(DaemonTest, LogsStructuredLinesAtTheLevelAskedFor) {
  ChildDaemon daemon({kAnyPort, kNoMetrics, "--log_level=warning"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_EQ(daemon.error(), "");
}

}  // namespace
}  // namespace papr::server
