// Requests that are refused: the gRPC status, the field or the limit named, nothing changed.

#include <functional>
#include <string>
#include <vector>

#include "hcall/abi.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

constexpr uint64_t kMaxBatch = 8;

class MalformedTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.limits.max_batch_hcalls = kMaxBatch;
    options.limits.max_partitions = 3;
    options.limits.max_hpt_bytes = uint64_t{1} << 30;
    StartServer(options);
    MustCreate("p", SmallConfig());
    ASSERT_EQ(MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR}).return_code(), 0);
    before_ = MustGetStatistics("p");
  }

  // Whatever was refused, the daemon serves on and the table is as it was.
  void TearDown() override {
    EXPECT_EQ(MustGetStatistics("p").SerializeAsString(), before_.SerializeAsString());
    const auto list = Call(partitions(), &Partitions::ListPartitions, v1::ListPartitionsRequest());
    EXPECT_EQ(list.response.partitions_size(), 1);
  }

  template <typename Response>
  static void ExpectField(const Reply<Response>& reply, const std::string& field) {
    EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT) << reply.status.error_message();
    EXPECT_EQ(reply.detail.field(), field) << reply.status.error_message();
    EXPECT_EQ(reply.status.error_message().rfind(field, 0), 0U) << reply.status.error_message();
  }

  template <typename Response>
  static void ExpectLimit(const Reply<Response>& reply, const std::string& limit, uint64_t value) {
    EXPECT_EQ(reply.status.error_code(), grpc::RESOURCE_EXHAUSTED) << reply.status.error_message();
    EXPECT_EQ(reply.detail.limit(), limit);
    EXPECT_EQ(reply.detail.limit_value(), value);
    EXPECT_NE(reply.status.error_message().find("--" + limit), std::string::npos)
        << reply.status.error_message();
  }

  // Creates "q" with a configuration that `change` spoils.
  void ExpectConfigRefused(const std::string& field,
                           const std::function<void(v1::PartitionConfig&)>& change) {
    v1::PartitionConfig config = SmallConfig();
    change(config);
    ExpectField(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", config)),
                field);
  }

  template <typename Request, typename Response>
  void ExpectNoSuchPartition(grpc::Status (Hcalls::*method)(grpc::ClientContext*, const Request&,
                                                            Response*)) {
    Request request;
    request.set_partition("nobody");
    EXPECT_EQ(Call(hcalls(), method, request).status.error_code(), grpc::NOT_FOUND);
  }

  template <typename Request, typename Response>
  void ExpectNoSuchPartition(grpc::Status (Partitions::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                             Request request = {}) {
    request.set_name("nobody");
    EXPECT_EQ(Call(partitions(), method, request).status.error_code(), grpc::NOT_FOUND);
  }

 private:
  v1::HptStatistics before_;
};

TEST_F(MalformedTest, UnknownPartition) {
  EXPECT_EQ(
      Call(hcalls(), &Hcalls::Hcall, HcallOf("nobody", hcall::kHRead, {})).status.error_code(),
      grpc::NOT_FOUND);
  EXPECT_EQ(Call(hcalls(), &Hcalls::Hcall, HcallOf("", hcall::kHRead, {})).status.error_code(),
            grpc::NOT_FOUND);
  EXPECT_EQ(
      Call(hcalls(), &Hcalls::Hcall, HcallOf("\x01\n\"", hcall::kHRead, {})).status.error_code(),
      grpc::NOT_FOUND);
  ExpectNoSuchPartition(&Hcalls::HcallBatch);
  ExpectNoSuchPartition(&Hcalls::Enter);
  ExpectNoSuchPartition(&Hcalls::Read);
  ExpectNoSuchPartition(&Hcalls::Remove);
  ExpectNoSuchPartition(&Hcalls::Protect);
  ExpectNoSuchPartition(&Hcalls::ClearReference);
  ExpectNoSuchPartition(&Hcalls::ClearModify);
  ExpectNoSuchPartition(&Hcalls::BulkRemove);
  ExpectNoSuchPartition(&Hcalls::BlockRemove);
  ExpectNoSuchPartition(&Hcalls::HashRemove);
  ExpectNoSuchPartition(&Hcalls::HashProtect);
  ExpectNoSuchPartition(&Hcalls::HashBulkRemove);
  ExpectNoSuchPartition(&Hcalls::ResizeHptPrepare);
  ExpectNoSuchPartition(&Hcalls::ResizeHptCommit);
  ExpectNoSuchPartition(&Hcalls::PageInit);
  ExpectNoSuchPartition(&Hcalls::ClearHpt);
  ExpectNoSuchPartition(&Partitions::GetPartition);
  ExpectNoSuchPartition(&Partitions::ResetPartition);
  ExpectNoSuchPartition(&Partitions::DeletePartition);
  ExpectNoSuchPartition(&Partitions::GetHptStatistics);
  ExpectNoSuchPartition(&Partitions::CheckHpt);
  v1::FinishResizePreparationRequest finish;
  finish.set_order(20);
  ExpectNoSuchPartition(&Partitions::FinishResizePreparation, finish);
  v1::SetReferenceChangeRequest update;
  update.set_partition("nobody");
  EXPECT_EQ(Call(mmu_service(), &Mmu::SetReferenceChange, update).status.error_code(),
            grpc::NOT_FOUND);
}

TEST_F(MalformedTest, WhatIsQuotedIsCutShort) {
  const std::string name(8000, '%');
  const std::string quoted = "no partition \"" + std::string(63, '%') + "\"...";
  const auto hcall = Call(hcalls(), &Hcalls::Hcall, HcallOf(name, hcall::kHRead, {}));
  EXPECT_EQ(hcall.status.error_code(), grpc::NOT_FOUND) << hcall.status.error_message();
  EXPECT_EQ(hcall.status.error_message(), quoted);
  v1::GetHptStatisticsRequest scan;
  scan.set_name(name);
  const auto reply = Call(partitions(), &Partitions::GetHptStatistics, scan);
  EXPECT_EQ(reply.status.error_code(), grpc::NOT_FOUND) << reply.status.error_message();
  EXPECT_EQ(reply.status.error_message(), quoted);
}

TEST_F(MalformedTest, BytesThatAreNoMessage) {
  for (const std::string method : {"HcallService/Hcall", "HcallService/Enter",
                                   "HcallService/HcallBatch", "MmuService/SetReferenceChange",
                                   "PartitionService/GetPartition", "PartitionService/CheckHpt"}) {
    // A length beyond the end, no tag, and a string that is no UTF-8.
    for (const std::string bytes :
         {"\x0a\x7f", "\xff\xff\xff\xff\xff\xff\xff", "\x0a\x02\xff\xff"}) {
      const grpc::Status status = RawUnary(channel(), "/papr.mmu.v1." + method, bytes);
      EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
      EXPECT_NE(status.error_message().find("nothing was executed"), std::string::npos);
    }
  }
  EXPECT_EQ(RawUnary(channel(), "/papr.mmu.v1.HcallService/Nothing", "").error_code(),
            grpc::UNIMPLEMENTED);
}

TEST_F(MalformedTest, TenArguments) {
  ExpectField(
      Call(hcalls(), &Hcalls::Hcall, HcallOf("p", hcall::kHRead, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0})),
      "hcall.arguments");
}

TEST_F(MalformedTest, TenArgumentsRefuseTheWholeBatchBeforeAnyOfItRuns) {
  v1::HcallBatchRequest batch;
  batch.set_partition("p");
  for (int i = 0; i < 3; ++i) AddHcall(batch, hcall::kHRemove, {0, kSomePtex});
  AddHcall(batch, hcall::kHRead, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  ExpectField(Call(hcalls(), &Hcalls::HcallBatch, batch), "hcalls[3].arguments");
}

TEST_F(MalformedTest, NoHcall) {
  v1::HcallRequest request;
  request.set_partition("p");
  ExpectField(Call(hcalls(), &Hcalls::Hcall, request), "hcall");
}

TEST_F(MalformedTest, BatchOverTheLimit) {
  v1::HcallBatchRequest batch;
  batch.set_partition("p");
  for (uint64_t i = 0; i <= kMaxBatch; ++i) AddHcall(batch, hcall::kHRemove, {0, kSomePtex});
  ExpectLimit(Call(hcalls(), &Hcalls::HcallBatch, batch), "max_batch_hcalls", kMaxBatch);
}

TEST_F(MalformedTest, TooManySpecifiers) {
  v1::BulkRemoveRequest bulk;
  v1::HashBulkRemoveRequest hash_bulk;
  v1::BlockRemoveRequest block;
  for (int i = 0; i < 5; ++i) {
    bulk.add_specifiers()->set_high(0x4000000000000000 | kSomePtex);
    hash_bulk.add_specifiers();
  }
  for (int i = 0; i < 9; ++i) block.add_specifiers(0x4000000000000000 | kSomePtex);
  bulk.set_partition("p");
  hash_bulk.set_partition("p");
  block.set_partition("p");
  ExpectField(Call(hcalls(), &Hcalls::BulkRemove, bulk), "specifiers");
  ExpectField(Call(hcalls(), &Hcalls::HashBulkRemove, hash_bulk), "specifiers");
  ExpectField(Call(hcalls(), &Hcalls::BlockRemove, block), "specifiers");
}

TEST_F(MalformedTest, BadNames) {
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string(".a"), std::string("a b"), std::string("a/b"),
        std::string("\xc3\xa9"), std::string(64, 'x'), std::string("other")}) {
    ExpectField(
        Call(partitions(), &Partitions::CreatePartition, CreateRequest(name, SmallConfig())),
        "name");
  }
}

TEST_F(MalformedTest, NameTaken) {
  const auto reply =
      Call(partitions(), &Partitions::CreatePartition, CreateRequest("p", SmallConfig()));
  EXPECT_EQ(reply.status.error_code(), grpc::ALREADY_EXISTS);
}

TEST_F(MalformedTest, Orders) {
  for (const uint32_t order : {1U, 17U, 47U, 63U, 64U, 1000U, 0xffffffffU}) {
    ExpectConfigRefused("config.order", [&](auto& config) { config.set_order(order); });
    ExpectConfigRefused("config.max_order", [&](auto& config) { config.set_max_order(order); });
    v1::ResetPartitionRequest reset;
    reset.set_name("p");
    reset.set_order(order);
    ExpectField(Call(partitions(), &Partitions::ResetPartition, reset), "order");
  }
}

TEST_F(MalformedTest, Memory) {
  const auto add = [](v1::PartitionConfig& config, uint64_t base, uint64_t size) {
    v1::MemoryRegion* region = config.add_memory();
    region->set_base(base);
    region->set_size(size);
    region->set_kind(v1::MemoryRegion::KIND_IO);
    return region;
  };
  ExpectConfigRefused("config.memory", [](auto& config) { config.clear_memory(); });
  ExpectConfigRefused("config.memory[1]", [&](auto& config) { add(config, 0, 4096); });
  ExpectConfigRefused("config.memory[1]",
                      [&](auto& config) { add(config, (64 << 20) - 4096, 8192); });
  ExpectConfigRefused("config.memory[1].base",
                      [&](auto& config) { add(config, (64 << 20) + 1, 4096); });
  ExpectConfigRefused("config.memory[1].size", [&](auto& config) { add(config, 1 << 30, 0); });
  ExpectConfigRefused("config.memory[1].size", [&](auto& config) { add(config, 1 << 30, 4097); });
  ExpectConfigRefused("config.memory[1].size",
                      [&](auto& config) { add(config, uint64_t{1} << 60, 4096); });
  ExpectConfigRefused("config.memory[1].size",
                      [&](auto& config) { add(config, 4096, 0xfffffffffffff000); });
  ExpectConfigRefused("config.memory[1].kind", [&](auto& config) {
    add(config, 1 << 30, 4096)->set_kind(v1::MemoryRegion::KIND_UNSPECIFIED);
  });
  ExpectConfigRefused("config.memory", [](auto& config) {
    config.mutable_memory(0)->set_kind(v1::MemoryRegion::KIND_IO);
  });
}

TEST_F(MalformedTest, PageSizes) {
  const auto add = [](v1::PartitionConfig& config, uint32_t base, uint32_t actual, uint32_t lp) {
    v1::SegmentPageSize* line = config.add_page_sizes();
    line->set_base_shift(base);
    auto* encoding = line->add_encodings();
    encoding->set_actual_shift(actual);
    encoding->set_lp(lp);
    return line;
  };
  ExpectConfigRefused("config.page_sizes[0].base_shift",
                      [&](auto& config) { add(config, 11, 12, 0); });
  ExpectConfigRefused("config.page_sizes[0].base_shift",
                      [&](auto& config) { add(config, 41, 41, 0); });
  ExpectConfigRefused("config.page_sizes[0].encodings[0].actual_shift",
                      [&](auto& config) { add(config, 16, 12, 1); });
  ExpectConfigRefused("config.page_sizes[1].encodings[0].actual_shift", [&](auto& config) {
    add(config, 12, 12, 0);
    add(config, 16, 0xffffffff, 1);
  });
  ExpectConfigRefused("config.page_sizes", [&](auto& config) {
    add(config, 12, 12, 0);
    add(config, 12, 12, 0);
  });
  ExpectConfigRefused("config.page_sizes",
                      [&](auto& config) { add(config, 12, 12, 0)->set_slb(1); });
  ExpectConfigRefused("config.page_sizes[0]", [&](auto& config) {
    auto* line = add(config, 12, 12, 0);
    for (int i = 0; i < 100; ++i) line->add_encodings()->set_actual_shift(13);
  });
  ExpectConfigRefused("config.block_remove_sizes.sizes[0].base_shift", [](auto& config) {
    config.mutable_block_remove_sizes()->add_sizes()->set_base_shift(0xffffffff);
  });
  ExpectConfigRefused("config.block_remove_sizes.sizes[0]", [](auto& config) {
    auto* pair = config.mutable_block_remove_sizes()->add_sizes();
    pair->set_base_shift(13);
    pair->set_actual_shift(13);
  });
}

TEST_F(MalformedTest, EnumerationsAndFeatures) {
  ExpectConfigRefused("config.profile",
                      [](auto& config) { config.set_profile(static_cast<v1::Profile>(99)); });
  ExpectConfigRefused("config.processor",
                      [](auto& config) { config.set_processor(static_cast<v1::Processor>(-1)); });
  ExpectConfigRefused("config.mmu",
                      [](auto& config) { config.set_mmu(static_cast<v1::MmuKind>(99)); });
  ExpectConfigRefused("config.resize_preparation", [](auto& config) {
    config.set_resize_preparation(static_cast<v1::ResizePreparation>(99));
  });
  ExpectConfigRefused("config.page_size_match", [](auto& config) {
    config.set_page_size_match(static_cast<v1::PageSizeMatch>(99));
  });
  ExpectConfigRefused("config.features.block_remove", [](auto& config) {
    config.set_profile(v1::PROFILE_QEMU_TCG);
    config.mutable_features()->set_block_remove(true);
  });
  ExpectConfigRefused("config.features.clear_rc", [](auto& config) {
    config.set_profile(v1::PROFILE_QEMU_TCG);
    config.mutable_features()->set_clear_rc(true);
  });
  ExpectConfigRefused("config.features.clear_hpt", [](auto& config) {
    config.set_profile(v1::PROFILE_QEMU_TCG);
    config.mutable_features()->set_clear_hpt(true);
  });
  for (const uint32_t base : {4U, 0xf902U, 0xfff8U, 0xf000U, 0xf800U, 0x10000U}) {
    ExpectConfigRefused("config.hash_opcode_base",
                        [&](auto& config) { config.set_hash_opcode_base(base); });
  }
}

TEST_F(MalformedTest, PagesAndCounts) {
  v1::ListPartitionsRequest list;
  for (const std::string token : {"x", "cA", "!!", "YWZ0ZXI6", "YWZ0ZXI6LQ"}) {
    list.set_page_token(token);
    ExpectField(Call(partitions(), &Partitions::ListPartitions, list), "page_token");
  }
  list.clear_page_token();
  list.set_page_size(-1);
  ExpectField(Call(partitions(), &Partitions::ListPartitions, list), "page_size");
  v1::CheckHptRequest check;
  check.set_name("p");
  check.set_max_findings(-1);
  ExpectField(Call(partitions(), &Partitions::CheckHpt, check), "max_findings");
}

TEST_F(MalformedTest, FinishResizePreparation) {
  v1::FinishResizePreparationRequest request;
  request.set_name("p");
  request.set_order(17);
  ExpectField(Call(partitions(), &Partitions::FinishResizePreparation, request), "order");
  request.set_order(20);
  for (const int64_t code : {int64_t{1}, int64_t{-4}, int64_t{9902}, INT64_MIN}) {
    request.set_return_code(code);
    ExpectField(Call(partitions(), &Partitions::FinishResizePreparation, request), "return_code");
  }
  request.set_return_code(0);  // "p" prepares in the background
  EXPECT_EQ(Call(partitions(), &Partitions::FinishResizePreparation, request).status.error_code(),
            grpc::FAILED_PRECONDITION);
}

TEST_F(MalformedTest, SetReferenceChange) {
  v1::SetReferenceChangeRequest request;
  request.set_partition("p");
  for (uint64_t i = 0; i <= kMaxBatch; ++i) request.add_updates();
  ExpectLimit(Call(mmu_service(), &Mmu::SetReferenceChange, request), "max_batch_hcalls",
              kMaxBatch);
  request.clear_updates();
  request.add_updates()->set_ptex(kSomePtex);  // changes nothing
  request.add_updates()->set_ptex(0x4000);
  auto reply = Call(mmu_service(), &Mmu::SetReferenceChange, request);
  EXPECT_EQ(reply.status.error_code(), grpc::OUT_OF_RANGE);
  EXPECT_EQ(reply.detail.field(), "updates[1]");
  request.mutable_updates(1)->set_ptex(0);
  reply = Call(mmu_service(), &Mmu::SetReferenceChange, request);
  EXPECT_EQ(reply.status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(reply.detail.field(), "updates[1]");
}

TEST_F(MalformedTest, LimitsOfPartitionsAndBytes) {
  ExpectLimit(Call(partitions(), &Partitions::CreatePartition, CreateRequest("q", SmallConfig(30))),
              "max_hpt_bytes", uint64_t{1} << 30);
  v1::ResetPartitionRequest reset;
  reset.set_name("p");
  reset.set_order(31);
  ExpectLimit(Call(partitions(), &Partitions::ResetPartition, reset), "max_hpt_bytes",
              uint64_t{1} << 30);
  MustCreate("q", SmallConfig());
  MustCreate("r", SmallConfig());
  ExpectLimit(Call(partitions(), &Partitions::CreatePartition, CreateRequest("s", SmallConfig())),
              "max_partitions", 3);
  for (const char* name : {"q", "r"}) {
    v1::DeletePartitionRequest request;
    request.set_name(name);
    EXPECT_TRUE(Call(partitions(), &Partitions::DeletePartition, request).status.ok());
  }
}

}  // namespace
}  // namespace papr::server
