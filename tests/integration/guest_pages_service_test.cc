// PartitionService on the guest's pages of a partition that tracks them.

#include <string>

#include "hcall/abi.h"
#include "mmu/hpte.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

constexpr uint64_t kBits = 0x12;
constexpr uint64_t kRc = ::papr::mmu::kRReferenced | ::papr::mmu::kRChanged;

v1::PartitionConfig TrackedConfig() {
  v1::PartitionConfig config = SmallConfig();
  config.set_track_guest_pages(true);
  return config;
}

template <typename Request>
Request For(const std::string& name) {
  Request request;
  request.set_name(name);
  return request;
}

class GuestPagesServiceTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    MustCreate("p", TrackedConfig());
  }

  void Enter(uint64_t ptex, uint64_t address, uint64_t rc = 0) {
    const auto result = MustHcall("p", hcall::kHEnter,
                                  {hcall::kFlagExact, ptex, ptex << 12 | 1, address | rc | kBits});
    ASSERT_EQ(result.return_code(), hcall::kHSuccess);
  }
  // A table walk of a store.
  void Walk(uint64_t ptex) {
    v1::SetReferenceChangeRequest request;
    request.set_partition("p");
    v1::ReferenceChange* update = request.add_updates();
    update->set_ptex(ptex);
    update->set_referenced(true);
    update->set_changed(true);
    EXPECT_TRUE(Call(mmu_service(), &Mmu::SetReferenceChange, request).status.ok());
  }
  v1::GetDirtyPagesResponse Dirty(
      v1::GetDirtyPagesRequest request = For<v1::GetDirtyPagesRequest>("p")) {
    const auto reply = Call(partitions(), &Partitions::GetDirtyPages, request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    return reply.response;
  }
};

TEST_F(GuestPagesServiceTest, DirtyPagesAreToldOnceAndInPieces) {
  EXPECT_EQ(Dirty().runs_size(), 0);
  Enter(0, 0x5000);
  Enter(1, 0x9000, kRc);
  Walk(0);
  auto request = For<v1::GetDirtyPagesRequest>("p");
  request.set_keep(true);
  EXPECT_EQ(Dirty(request).runs_size(), 2);
  request.set_keep(false);
  request.set_max_runs(1);
  const v1::GetDirtyPagesResponse first = Dirty(request);
  ASSERT_EQ(first.runs_size(), 1);
  EXPECT_EQ(first.runs(0).address(), 0x5000U);
  EXPECT_EQ(first.runs(0).bytes(), 0x1000U);
  EXPECT_TRUE(first.more());
  EXPECT_EQ(first.next_start(), 0x9000U);
  request.set_start(first.next_start());
  const v1::GetDirtyPagesResponse second = Dirty(request);
  ASSERT_EQ(second.runs_size(), 1);
  EXPECT_EQ(second.runs(0).address(), 0x9000U);
  EXPECT_FALSE(second.more());
  EXPECT_EQ(Dirty().runs_size(), 0);
  EXPECT_EQ(MustHcall("p", hcall::kHRead, {0, 0}).outputs(1) & kRc, kRc);
  Walk(0);
  EXPECT_EQ(Dirty().runs_size(), 1);
}

TEST_F(GuestPagesServiceTest, MappingsOfAPage) {
  Enter(3, 0x5000);
  Enter(7, 0x5000);
  Enter(8, 0x6000);
  auto request = For<v1::ListMappingsRequest>("p");
  request.set_page(0x5000);
  auto reply = Call(partitions(), &Partitions::ListMappings, request);
  ASSERT_EQ(reply.response.mappings_size(), 2);
  EXPECT_FALSE(reply.response.more());
  EXPECT_EQ(reply.response.mappings(0).ptex() + reply.response.mappings(1).ptex(), 10U);
  EXPECT_EQ(reply.response.mappings(0).r(), 0x5000U | kBits);
  EXPECT_EQ(reply.response.mappings(0).actual_shift(), 12U);
  request.set_max_mappings(1);
  reply = Call(partitions(), &Partitions::ListMappings, request);
  EXPECT_EQ(reply.response.mappings_size(), 1);
  EXPECT_TRUE(reply.response.more());
}

TEST_F(GuestPagesServiceTest, HarvestTellsWhatIsNew) {
  Enter(0, 0x5000, ::papr::mmu::kRReferenced);
  Enter(1, 0x6000, kRc);
  auto request = For<v1::HarvestReferenceChangeRequest>("p");
  request.set_size(64 << 20);
  request.set_keep(true);
  EXPECT_EQ(Call(partitions(), &Partitions::HarvestReferenceChange, request).response.runs_size(),
            2);
  request.set_keep(false);
  request.set_max_runs(1);
  const auto first = Call(partitions(), &Partitions::HarvestReferenceChange, request).response;
  ASSERT_EQ(first.runs_size(), 1);
  EXPECT_TRUE(first.runs(0).referenced());
  EXPECT_FALSE(first.runs(0).changed());
  EXPECT_TRUE(first.more());
  EXPECT_EQ(first.next_base(), 0x6000U);
  request.clear_max_runs();
  const auto rest = Call(partitions(), &Partitions::HarvestReferenceChange, request).response;
  ASSERT_EQ(rest.runs_size(), 1);
  EXPECT_TRUE(rest.runs(0).changed());
  EXPECT_FALSE(rest.more());
}

TEST_F(GuestPagesServiceTest, RemoveMappingsOfARange) {
  Enter(0, 0x5000);
  Enter(1, 0x6000);
  ASSERT_EQ(MustHcall("p", hcall::kHEnter,
                      {hcall::kFlagExact, 2, 0x1000 | ::papr::mmu::kVBolted | 1, 0x6000 | kBits})
                .return_code(),
            0);
  auto request = For<v1::RemoveMappingsRequest>("p");
  request.set_base(0x6000);
  request.set_size(0x10000);
  const auto reply = Call(partitions(), &Partitions::RemoveMappings, request);
  EXPECT_EQ(reply.response.removed(), 2U);
  EXPECT_FALSE(reply.response.more());
  EXPECT_EQ(MustGetStatistics("p").valid(), 1U);
}

TEST_F(GuestPagesServiceTest, TrackingShowsInConfigurationAndStatistics) {
  Enter(0, 0x5000);
  EXPECT_GT(MustGetStatistics("p").tracking_bytes(), 0U);
  auto get = For<v1::GetPartitionRequest>("p");
  EXPECT_TRUE(Call(partitions(), &Partitions::GetPartition, get)
                  .response.partition()
                  .config()
                  .track_guest_pages());
  MustCreate("plain", SmallConfig());
  EXPECT_EQ(MustGetStatistics("plain").tracking_bytes(), 0U);
}

TEST_F(GuestPagesServiceTest, APartitionThatDoesNotTrackTellsTheRemedy) {
  MustCreate("plain", SmallConfig());
  const auto expect = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
    EXPECT_NE(status.error_message().find("create it with track_guest_pages"), std::string::npos);
  };
  const std::string name = "plain";
  expect(
      Call(partitions(), &Partitions::GetDirtyPages, For<v1::GetDirtyPagesRequest>(name)).status);
  expect(Call(partitions(), &Partitions::ListMappings, For<v1::ListMappingsRequest>(name)).status);
  expect(Call(partitions(), &Partitions::HarvestReferenceChange,
              For<v1::HarvestReferenceChangeRequest>(name))
             .status);
  expect(
      Call(partitions(), &Partitions::RemoveMappings, For<v1::RemoveMappingsRequest>(name)).status);
}

TEST_F(GuestPagesServiceTest, WhatIsWrongIsNamed) {
  const auto field = [](const auto& reply, const char* name) {
    EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT) << reply.status.error_message();
    EXPECT_EQ(reply.detail.field(), name);
  };
  auto dirty = For<v1::GetDirtyPagesRequest>("p");
  dirty.set_start(1);
  field(Call(partitions(), &Partitions::GetDirtyPages, dirty), "start");
  dirty.set_max_runs(-1);
  field(Call(partitions(), &Partitions::GetDirtyPages, dirty), "max_runs");
  auto mappings = For<v1::ListMappingsRequest>("p");
  mappings.set_page(7);
  field(Call(partitions(), &Partitions::ListMappings, mappings), "page");
  mappings.set_max_mappings(-1);
  field(Call(partitions(), &Partitions::ListMappings, mappings), "max_mappings");
  auto harvest = For<v1::HarvestReferenceChangeRequest>("p");
  field(Call(partitions(), &Partitions::HarvestReferenceChange, harvest), "size");
  harvest.set_max_runs(-1);
  field(Call(partitions(), &Partitions::HarvestReferenceChange, harvest), "max_runs");
  auto remove = For<v1::RemoveMappingsRequest>("p");
  remove.set_base(0x10);
  field(Call(partitions(), &Partitions::RemoveMappings, remove), "base");
  remove.set_base(uint64_t{1} << 59);
  remove.set_size(uint64_t{1} << 60);
  field(Call(partitions(), &Partitions::RemoveMappings, remove), "size");

  v1::PartitionConfig config = TrackedConfig();
  config.set_order(36);
  field(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", config)),
        "config.order");
  config.set_order(18);
  config.set_max_order(36);
  field(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", config)),
        "config.max_order");
  config.set_max_order(0);
  config.set_mmu(v1::MMU_KIND_RADIX);
  field(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", config)),
        "config.track_guest_pages");
  auto reset = For<v1::ResetPartitionRequest>("p");
  reset.set_order(36);
  field(Call(partitions(), &Partitions::ResetPartition, reset), "order");
}

TEST_F(GuestPagesServiceTest, NobodyIsUnknown) {
  const std::string nobody = "nobody";
  EXPECT_EQ(Call(partitions(), &Partitions::GetDirtyPages, For<v1::GetDirtyPagesRequest>(nobody))
                .status.error_code(),
            grpc::NOT_FOUND);
  EXPECT_EQ(Call(partitions(), &Partitions::RemoveMappings, For<v1::RemoveMappingsRequest>(nobody))
                .status.error_code(),
            grpc::NOT_FOUND);
}

// RAM for which the host has no room to keep a word a page.
TEST_F(GuestPagesServiceTest, MoreRamThanCanBeTracked) {
  v1::PartitionConfig config = TrackedConfig();
  config.mutable_memory(0)->set_size(uint64_t{1} << 60);
  EXPECT_EQ(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", config))
                .status.error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace papr::server
