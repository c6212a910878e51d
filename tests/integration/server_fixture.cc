#include "tests/integration/server_fixture.h"

#include <utility>

#include "hcall/abi.h"

namespace papr::server {

v1::PartitionConfig SmallConfig(uint32_t order) {
  v1::PartitionConfig config;
  config.set_order(order);
  v1::MemoryRegion* ram = config.add_memory();
  ram->set_size(64 << 20);
  ram->set_kind(v1::MemoryRegion::KIND_RAM);
  return config;
}

v1::CreatePartitionRequest CreateRequest(const std::string& name,
                                         const v1::PartitionConfig& config) {
  v1::CreatePartitionRequest request;
  request.set_name(name);
  *request.mutable_config() = config;
  return request;
}

namespace {

void Fill(v1::Hcall* hcall, uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  hcall->set_opcode(opcode);
  hcall->mutable_arguments()->Add(arguments.begin(), arguments.end());
}

}  // namespace

v1::HcallRequest HcallOf(const std::string& partition, uint64_t opcode,
                         std::initializer_list<uint64_t> arguments) {
  v1::HcallRequest request;
  request.set_partition(partition);
  Fill(request.mutable_hcall(), opcode, arguments);
  return request;
}

void AddHcall(v1::HcallBatchRequest& batch, uint64_t opcode,
              std::initializer_list<uint64_t> arguments) {
  Fill(batch.add_hcalls(), opcode, arguments);
}

void SpreadEntries(Hcalls& stub, const std::string& partition, uint64_t count) {
  for (uint64_t i = 0; i < count;) {
    v1::HcallBatchRequest batch;
    batch.set_partition(partition);
    for (const uint64_t end = i + 4000; i < end; ++i) {
      AddHcall(batch, hcall::kHEnter, {0, i * 4096, kSomeV, kSomeR});
    }
    const auto reply = Call(stub, &Hcalls::HcallBatch, batch);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    for (const auto& result : reply.response.results()) EXPECT_EQ(result.return_code(), 0);
  }
}

void ServerTest::StartServer(ServerOptions options) {
  options.listen.push_back({"127.0.0.1", 0});
  auto started = Server::Start(options);
  ASSERT_TRUE(started.ok()) << started.status();
  server_ = *std::move(started);
  channel_ =
      grpc::CreateChannel(server_->grpc_addresses().at(0), grpc::InsecureChannelCredentials());
  partitions_ = v1::PartitionService::NewStub(channel_);
  hcalls_ = v1::HcallService::NewStub(channel_);
  mmu_ = v1::MmuService::NewStub(channel_);
}

void ServerTest::StopServer() { server_.reset(); }

v1::Partition ServerTest::MustCreate(const std::string& name, const v1::PartitionConfig& config) {
  const auto reply = Call(partitions(), &Partitions::CreatePartition, CreateRequest(name, config));
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  return reply.response.partition();
}

v1::HcallResult ServerTest::MustHcall(const std::string& partition, uint64_t opcode,
                                      std::initializer_list<uint64_t> arguments) {
  const auto reply = Call(hcalls(), &Hcalls::Hcall, HcallOf(partition, opcode, arguments));
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  return reply.response.result();
}

v1::HptStatistics ServerTest::MustGetStatistics(const std::string& partition) {
  v1::GetHptStatisticsRequest request;
  request.set_name(partition);
  request.set_digest(true);
  const auto reply = Call(partitions(), &Partitions::GetHptStatistics, request);
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  return reply.response.statistics();
}

}  // namespace papr::server
