// PartitionService as operators use it, and health and reflection beside it.

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hcall/abi.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

class PartitionServiceTest : public ServerTest {
 protected:
  void SetUp() override { StartServer(); }

  v1::ListPartitionsResponse List(int page_size, const std::string& token) {
    v1::ListPartitionsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    const auto reply = Call(partitions(), &Partitions::ListPartitions, request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    return reply.response;
  }

  void Delete(const std::string& name) {
    v1::DeletePartitionRequest request;
    request.set_name(name);
    const auto reply = Call(partitions(), &Partitions::DeletePartition, request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  }
};

TEST_F(PartitionServiceTest, FillsInEveryDefault) {
  v1::PartitionConfig config = SmallConfig();
  config.set_order(0);  // what suits the RAM
  config.mutable_memory(0)->set_size(uint64_t{4} << 30);
  const v1::Partition created = MustCreate("p", config);
  EXPECT_EQ(created.order(), 25U);
  EXPECT_EQ(created.config().order(), 25U);
  EXPECT_EQ(created.config().max_order(), 26U);
  EXPECT_EQ(created.config().profile(), v1::PROFILE_KVM_HV);
  EXPECT_EQ(created.config().processor(), v1::PROCESSOR_POWER8);
  EXPECT_EQ(created.config().hash_opcode_base(), 0xf900U);
  EXPECT_EQ(created.device_tree().pft_size(1), 25U);
  EXPECT_EQ(created.device_tree().block_invalidate_characteristics(),
            std::string("\x00\x06\x03\x04\x00\x81\xb8\x88", 8));
  v1::GetPartitionRequest get;
  get.set_name("p");
  EXPECT_EQ(
      Call(partitions(), &Partitions::GetPartition, get).response.partition().SerializeAsString(),
      created.SerializeAsString());
  // What comes out goes in again and means the same.
  const v1::Partition again = MustCreate("again", created.config());
  EXPECT_EQ(again.config().SerializeAsString(), created.config().SerializeAsString());
}

TEST_F(PartitionServiceTest, ProfileQemuTcg) {
  v1::PartitionConfig config = SmallConfig();
  config.set_profile(v1::PROFILE_QEMU_TCG);
  const v1::Partition created = MustCreate("q", config);
  EXPECT_FALSE(created.config().features().hash());
  EXPECT_EQ(created.config().page_sizes_size(), 2);
  EXPECT_EQ(created.config().page_size_match(), v1::PAGE_SIZE_MATCH_WHOLE_PAGE);
  EXPECT_EQ(MustHcall("q", hcall::kHHashRemove, {}).return_code(), hcall::kHFunction);
  EXPECT_EQ(MustHcall("q", hcall::kHRead, {0, 0}).outputs(0), 0x40U);
  EXPECT_EQ(MustCreate("again", created.config()).config().SerializeAsString(),
            created.config().SerializeAsString());
}

TEST_F(PartitionServiceTest, Radix) {
  v1::PartitionConfig config = SmallConfig(99);  // ignored
  config.set_mmu(v1::MMU_KIND_RADIX);
  EXPECT_EQ(MustCreate("r", config).order(), 0U);
  EXPECT_EQ(MustHcall("r", hcall::kHRead, {0, 0}).return_code(), hcall::kHFunction);
  EXPECT_EQ(MustHcall("r", hcall::kHResizeHptPrepare, {0, 20}).return_code(),
            hcall::kHNotAvailable);
  EXPECT_EQ(MustGetStatistics("r").table_bytes(), 0U);
  v1::CheckHptRequest check;
  check.set_name("r");
  EXPECT_TRUE(Call(partitions(), &Partitions::CheckHpt, check).status.ok());
}

TEST_F(PartitionServiceTest, ListsEveryPartitionOncePageByPage) {
  std::set<std::string> names;
  for (int i = 0; i < 23; ++i) {
    const std::string name = absl::StrCat("p", i);
    names.insert(name);
    MustCreate(name, SmallConfig());
  }
  std::vector<std::string> listed;
  std::string token;
  int pages = 0;
  do {
    const v1::ListPartitionsResponse page = List(5, token);
    ASSERT_LE(page.partitions_size(), 5);
    for (const v1::Partition& partition : page.partitions()) listed.push_back(partition.name());
    token = page.next_page_token();
    // Partitions that come and go meanwhile do not disturb the others.
    if (++pages == 2) {
      MustCreate("a", SmallConfig());
      Delete(listed.back());
      Delete(listed.front());
    }
  } while (!token.empty());
  EXPECT_EQ(pages, 5);
  EXPECT_EQ(listed, std::vector<std::string>(names.begin(), names.end()));
  EXPECT_EQ(List(0, "").partitions_size(), 22);
  EXPECT_EQ(List(1 << 30, "").partitions_size(), 22);
  EXPECT_EQ(List(22, "").next_page_token(), "");
}

TEST_F(PartitionServiceTest, PartitionsAreApart) {
  MustCreate("a", SmallConfig());
  MustCreate("b", SmallConfig());
  EXPECT_EQ(MustHcall("a", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR}).return_code(), 0);
  EXPECT_EQ(MustHcall("b", hcall::kHRead, {0, kSomePtex}).outputs(0), 0U);
  EXPECT_EQ(MustHcall("b", hcall::kHRemove, {0, kSomePtex}).return_code(), hcall::kHNotFound);
  EXPECT_EQ(MustHcall("a", hcall::kHRead, {0, kSomePtex}).outputs(0), kSomeV | 1);
  Delete("b");
  EXPECT_EQ(MustGetStatistics("a").valid(), 1U);
  EXPECT_EQ(Call(hcalls(), &Hcalls::Hcall, HcallOf("b", hcall::kHRead, {0, 0})).status.error_code(),
            grpc::NOT_FOUND);
}

TEST_F(PartitionServiceTest, ResetEmptiesAndMayChangeTheOrder) {
  MustCreate("p", SmallConfig());
  EXPECT_EQ(MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR}).return_code(), 0);
  v1::ResetPartitionRequest reset;
  reset.set_name("p");
  EXPECT_TRUE(Call(partitions(), &Partitions::ResetPartition, reset).status.ok());
  EXPECT_EQ(MustGetStatistics("p").valid(), 0U);
  reset.set_order(20);
  const auto reply = Call(partitions(), &Partitions::ResetPartition, reset);
  EXPECT_EQ(reply.response.partition().order(), 20U);
  EXPECT_EQ(reply.response.partition().config().order(), 18U);
  EXPECT_EQ(MustGetStatistics("p").table_bytes(), uint64_t{1} << 20);
}

TEST_F(PartitionServiceTest, DeletedBytesMayBeReservedAgain) {
  StopServer();
  ServerOptions options;
  options.limits.max_hpt_bytes = uint64_t{1} << 40;
  StartServer(options);
  for (int i = 0; i < 20; ++i) {
    MustCreate("big", SmallConfig(40));
    Delete("big");
  }
}

TEST_F(PartitionServiceTest, StatisticsAndCheck) {
  MustCreate("p", SmallConfig());
  MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR});
  MustHcall("p", hcall::kHEnter, {0, 0, kSomeV | mmu::kVBolted, 0x92});
  const v1::HptStatistics statistics = MustGetStatistics("p");
  EXPECT_EQ(statistics.valid(), 2U);
  EXPECT_EQ(statistics.bolted(), 1U);
  EXPECT_EQ(statistics.pteg_fill_size(), 9);
  EXPECT_EQ(statistics.pteg_fill(1), 2U);
  EXPECT_NE(statistics.digest(), 0U);
  v1::CheckHptRequest check;
  check.set_name("p");
  const auto reply = Call(partitions(), &Partitions::CheckHpt, check);
  EXPECT_EQ(reply.response.valid(), 2U);
  ASSERT_EQ(reply.response.faults(), 1U);
  EXPECT_EQ(reply.response.findings(0).fault(), v1::HptFinding::FAULT_CHANGED_NOT_REFERENCED);
  EXPECT_EQ(reply.response.findings(0).ptex(), 0U);
}

TEST_F(PartitionServiceTest, SetReferenceChange) {
  MustCreate("p", SmallConfig());
  MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, 0x12});
  v1::SetReferenceChangeRequest request;
  request.set_partition("p");
  request.add_updates()->set_ptex(kSomePtex);
  request.mutable_updates(0)->set_referenced(true);
  EXPECT_TRUE(Call(mmu_service(), &Mmu::SetReferenceChange, request).status.ok());
  EXPECT_EQ(MustHcall("p", hcall::kHRead, {0, kSomePtex}).outputs(1), 0x112U);
  request.mutable_updates(0)->set_changed(true);
  EXPECT_TRUE(Call(mmu_service(), &Mmu::SetReferenceChange, request).status.ok());
  EXPECT_EQ(MustHcall("p", hcall::kHRead, {0, kSomePtex}).outputs(1), 0x192U);
}

TEST_F(PartitionServiceTest, HealthIsServing) {
  for (const char* service :
       {"", "papr.mmu.v1.HcallService", "papr.mmu.v1.MmuService", "papr.mmu.v1.PartitionService"}) {
    EXPECT_EQ(HealthOf(channel(), service), "\x08\x01") << service;
  }
}

TEST_F(PartitionServiceTest, ReflectionListsTheServices) {
  const std::string services = ReflectedServices(channel());
  for (const char* service :
       {"papr.mmu.v1.HcallService", "papr.mmu.v1.MmuService", "papr.mmu.v1.PartitionService",
        "grpc.channelz.v1.Channelz", "grpc.reflection.v1alpha.ServerReflection"}) {
    EXPECT_NE(services.find(service), std::string::npos) << service;
  }
}

TEST_F(PartitionServiceTest, OnlyScansWaitForScans) {
  MustCreate("big", SmallConfig(32));
  SpreadEntries(hcalls(), "big", 8000);
  constexpr int kScans = 40;
  std::vector<grpc::ClientContext> contexts(kScans);
  std::atomic<int> answered{0};
  std::vector<std::thread> scans;
  for (grpc::ClientContext& context : contexts) {
    scans.emplace_back([&] {
      v1::GetHptStatisticsRequest request;
      request.set_name("big");
      request.set_digest(true);
      v1::GetHptStatisticsResponse response;
      answered += partitions().GetHptStatistics(&context, request, &response).ok();
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MustCreate("small", SmallConfig());
  MustHcall("small", hcall::kHClearHpt, {});
  MustHcall("small", hcall::kHResizeHptPrepare, {0, 19});
  v1::ResetPartitionRequest reset;
  reset.set_name("small");
  EXPECT_TRUE(Call(partitions(), &Partitions::ResetPartition, reset).status.ok());
  v1::GetPartitionRequest get;
  get.set_name("big");
  EXPECT_TRUE(Call(partitions(), &Partitions::GetPartition, get).status.ok());
  EXPECT_LT(answered, kScans / 2);
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& scan : scans) scan.join();
  // Those whose callers have gone are not begun.
  MustGetStatistics("big");
}

}  // namespace
}  // namespace papr::server
