// What many partitions cost in memory: the promise of the README.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "hcall/abi.h"
#include "papr/mmu/v1/hcall.grpc.pb.h"
#include "papr/mmu/v1/partition.grpc.pb.h"
#include "tests/integration/child_daemon.h"
#include "tests/integration/rpc_call.h"
#include "tests/integration/scrape.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

constexpr int kPartitions = 10'000;
constexpr int kEntries = 100;
constexpr int kOrder = 18;
constexpr int64_t kTableBytes = int64_t{1} << kOrder;
constexpr int64_t kMostBesideTheTable = 64 << 10;

class ManyPartitions : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.WaitUntilReady());
    const auto channel =
        grpc::CreateChannel(daemon_.Listening("grpc"), grpc::InsecureChannelCredentials());
    partitions_ = v1::PartitionService::NewStub(channel);
    hcalls_ = v1::HcallService::NewStub(channel);
  }

  static std::string Name(int i) { return "guest" + std::to_string(i); }

  void Create(int i) {
    v1::CreatePartitionRequest request;
    request.set_name(Name(i));
    request.mutable_config()->set_order(kOrder);
    v1::MemoryRegion* ram = request.mutable_config()->add_memory();
    ram->set_size(uint64_t{1} << 30);
    ram->set_kind(v1::MemoryRegion::KIND_RAM);
    const auto reply = Call(*partitions_, &v1::PartitionService::Stub::CreatePartition, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  }

  // Enters pages at random groups until kEntries are in.
  void Fill(int i) {
    v1::HcallBatchRequest request;
    request.set_partition(Name(i));
    for (int entry = 0; entry < kEntries; ++entry) {
      v1::Hcall* hcall = request.add_hcalls();
      hcall->set_opcode(hcall::kHEnter);
      for (const uint64_t argument : {uint64_t{0}, random_() % (kTableBytes / 16),
                                      random_() >> 9 << 7 | 1, uint64_t{0x1012}}) {
        hcall->add_arguments(argument);
      }
    }
    const auto reply = Call(*hcalls_, &v1::HcallService::Stub::HcallBatch, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    for (const auto& result : reply.response.results()) ASSERT_EQ(result.return_code(), 0);
  }

  int64_t ResidentBytes() const {
    int64_t mapped = 0;
    int64_t resident = 0;
    std::ifstream("/proc/" + std::to_string(daemon_.pid()) + "/statm") >> mapped >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }

  ChildDaemon daemon_{{"--listen=127.0.0.1:0", "--metrics_listen=127.0.0.1:0",
                       "--max_partitions=" + std::to_string(kPartitions), "--log_level=warning"}};
  std::unique_ptr<v1::PartitionService::Stub> partitions_;
  std::unique_ptr<v1::HcallService::Stub> hcalls_;
  std::mt19937_64 random_{18};
};

TEST_F(ManyPartitions, TenThousandLiveInOneDaemon) {
  const int64_t before = ResidentBytes();
  for (int i = 0; i < kPartitions && !HasFatalFailure(); ++i) Create(i);
  const int64_t idle = (ResidentBytes() - before) / kPartitions;
  for (int i = 0; i < kPartitions && !HasFatalFailure(); ++i) Fill(i);
  const int64_t filled = (ResidentBytes() - before) / kPartitions;
  RecordProperty("idle_bytes", std::to_string(idle));
  RecordProperty("filled_bytes", std::to_string(filled));
  std::cout << "bytes a partition: idle " << idle << ", with " << kEntries << " entries " << filled
            << " (table " << kTableBytes << ")\n";
  EXPECT_LT(idle, kMostBesideTheTable);
  EXPECT_LT(filled, kTableBytes + kMostBesideTheTable);

  // All of them are there and apart.
  for (const int i : {0, 1, kPartitions / 2, kPartitions - 1}) {
    v1::GetHptStatisticsRequest request;
    request.set_name(Name(i));
    const auto reply = Call(*partitions_, &v1::PartitionService::Stub::GetHptStatistics, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    EXPECT_EQ(reply.response.statistics().valid(), static_cast<uint64_t>(kEntries));
  }
  EXPECT_NE(HttpGet(daemon_.Listening("metrics")).find("hptd_partitions 10000"), std::string::npos);
}

}  // namespace
}  // namespace papr::server
