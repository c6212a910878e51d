// A server in this process, on a free port of 127.0.0.1, and stubs for it.

#ifndef TESTS_INTEGRATION_SERVER_FIXTURE_H_
#define TESTS_INTEGRATION_SERVER_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>

#include "papr/mmu/v1/hcall.grpc.pb.h"
#include "papr/mmu/v1/mmu.grpc.pb.h"
#include "papr/mmu/v1/partition.grpc.pb.h"
#include "server/server.h"
#include "tests/integration/rpc_call.h"

namespace papr::server {

namespace v1 = mmu::v1;
using Partitions = v1::PartitionService::Stub;
using Hcalls = v1::HcallService::Stub;
using Mmu = v1::MmuService::Stub;

// 64 MB of RAM from 0, and an order-18 table unless another is asked for.
v1::PartitionConfig SmallConfig(uint32_t order = 18);
v1::CreatePartitionRequest CreateRequest(const std::string& name,
                                         const v1::PartitionConfig& config);
v1::HcallRequest HcallOf(const std::string& partition, uint64_t opcode,
                         std::initializer_list<uint64_t> arguments);
void AddHcall(v1::HcallBatchRequest& batch, uint64_t opcode,
              std::initializer_list<uint64_t> arguments);

// Enters `count` entries, a multiple of 4000, far apart in a partition with a table of at least
// 4096 * count PTEs, so that a scan of it takes a while.
void SpreadEntries(Hcalls& stub, const std::string& partition, uint64_t count);

class ServerTest : public ::testing::Test {
 protected:
  // Starts with these options; TCP on a free port is added. Metrics only if asked for.
  void StartServer(ServerOptions options = {});
  void StopServer();

  Partitions& partitions() { return *partitions_; }
  Hcalls& hcalls() { return *hcalls_; }
  Mmu& mmu_service() { return *mmu_; }
  Server& server() { return *server_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

  v1::Partition MustCreate(const std::string& name, const v1::PartitionConfig& config);
  // Return code and outputs of one hcall in register form.
  v1::HcallResult MustHcall(const std::string& partition, uint64_t opcode,
                            std::initializer_list<uint64_t> arguments);
  v1::HptStatistics MustGetStatistics(const std::string& partition);

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Partitions> partitions_;
  std::unique_ptr<Hcalls> hcalls_;
  std::unique_ptr<Mmu> mmu_;
};

// A 4 KB translation that an order-18 table holds at any slot of its primary group 0x3ff0.
inline constexpr uint64_t kSomeV = 0x1f80;
inline constexpr uint64_t kSomeR = 0x192;  // real page 0, R and C set, M, pp 2
inline constexpr uint64_t kSomePtex = 0x3ff0;

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_SERVER_FIXTURE_H_
