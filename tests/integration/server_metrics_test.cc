// The metrics after calls whose number is known.

#include <map>
#include <string>

#include "hcall/abi.h"
#include "tests/integration/scrape.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

class ServerMetricsTest : public ServerTest {
 protected:
  void Start(uint64_t max_partitions) {
    ServerOptions options;
    options.metrics_listen.push_back({"127.0.0.1", 0});
    options.limits.metrics_max_partitions = max_partitions;
    StartServer(options);
  }

  void Scrape() { samples_ = ParseSamples(HttpGet(server().metrics_url())); }

  bool Has(const std::string& series) const { return samples_.count(series) != 0; }
  double Value(const std::string& series) const {
    EXPECT_TRUE(Has(series)) << series;
    return Has(series) ? samples_.at(series) : -1;
  }
  static std::string Hcalls(const std::string& partition, const std::string& hcall,
                            const std::string& result) {
    return "hptd_hcalls_total{partition=\"" + partition + "\",hcall=\"" + hcall + "\",result=\"" +
           result + "\"}";
  }
  static std::string RoundTrips(const std::string& partition, const std::string& rpc) {
    return "hptd_hcall_round_trips_total{partition=\"" + partition + "\",rpc=\"" + rpc + "\"}";
  }
  double SumOf(const std::string& prefix) const {
    double sum = 0;
    for (auto it = samples_.lower_bound(prefix); it != samples_.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) break;
      sum += it->second;
    }
    return sum;
  }

 private:
  std::map<std::string, double> samples_;
};

TEST_F(ServerMetricsTest, CountsHcallsAndRoundTrips) {
  Start(100);
  MustCreate("p", SmallConfig());
  for (int i = 0; i < 8; ++i) MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR});
  MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR});  // the group is full
  MustHcall("p", 0x1234, {});
  MustHcall("p", hcall::kHResizeHptCommit, {0, 20});
  v1::HcallBatchRequest batch;
  batch.set_partition("p");
  for (uint64_t i = 0; i < 3; ++i) AddHcall(batch, hcall::kHRemove, {0, kSomePtex + i});
  AddHcall(batch, hcall::kHRemove, {0, 0});
  AddHcall(batch, hcall::kHRead, {0, ~uint64_t{0}});
  for (int i = 0; i < 2; ++i) Call(hcalls(), &Hcalls::HcallBatch, batch);
  v1::ReadRequest read;
  read.set_partition("p");
  Call(hcalls(), &Hcalls::Read, read);

  Scrape();
  EXPECT_EQ(Value(Hcalls("p", "h_enter", "success")), 8);
  EXPECT_EQ(Value(Hcalls("p", "h_enter", "pteg_full")), 1);
  EXPECT_EQ(Value(Hcalls("p", "other", "function")), 1);
  EXPECT_EQ(Value(Hcalls("p", "h_remove", "success")), 3);
  EXPECT_EQ(Value(Hcalls("p", "h_remove", "not_found")), 5);
  EXPECT_EQ(Value(Hcalls("p", "h_read", "parameter")), 2);
  EXPECT_EQ(Value(Hcalls("p", "h_read", "success")), 1);
  EXPECT_EQ(Value(Hcalls("p", "h_protect", "success")), 0);
  EXPECT_FALSE(Has(Hcalls("p", "h_protect", "not_found")));
  EXPECT_EQ(Value(RoundTrips("p", "Hcall")), 11);
  EXPECT_EQ(Value(RoundTrips("p", "HcallBatch")), 2);
  EXPECT_EQ(Value(RoundTrips("p", "Read")), 1);
  EXPECT_EQ(Value("hptd_frame_hcalls_count"), 2);
  EXPECT_EQ(Value("hptd_frame_hcalls_sum"), 10);
  EXPECT_EQ(Value("hptd_frame_hcalls_bucket{le=\"4\"}"), 0);
  EXPECT_EQ(Value("hptd_frame_hcalls_bucket{le=\"8\"}"), 2);
  EXPECT_EQ(Value("hptd_resize_total{result=\"closed\"}"), 1);
  EXPECT_EQ(Value("hptd_resize_total{result=\"success\"}"), 0);
  EXPECT_EQ(Value("hptd_partitions"), 1);
  EXPECT_EQ(Value("hptd_hpt_entries{partition=\"p\",state=\"valid\"}"), 5);
  EXPECT_EQ(Value("hptd_hpt_entries{partition=\"p\",state=\"free\"}"), 0x4000 - 5);
  EXPECT_EQ(Value("hptd_hpt_bytes{partition=\"p\"}"), 1 << 18);
  EXPECT_EQ(Value("hptd_hpt_pteg_fill{partition=\"p\",entries=\"5\"}"), 1);
  EXPECT_EQ(Value("hptd_hpt_pteg_fill{partition=\"p\",entries=\"0\"}"), 0x7ff);
  EXPECT_EQ(Value("hptd_hpt_secondary_ratio{partition=\"p\"}"), 0);
  EXPECT_GE(SumOf("hptd_hcall_duration_seconds_count{"), 1);  // the first call of a thread is timed
  EXPECT_EQ(SumOf("hptd_build_info{"), 1);
  EXPECT_GT(Value("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Value("process_start_time_seconds"), 1.5e9);
}

TEST_F(ServerMetricsTest, CountsRpcsAsTheEcosystemDoes) {
  Start(100);
  MustCreate("p", SmallConfig());
  for (int i = 0; i < 3; ++i) MustHcall("p", hcall::kHRead, {0, 0});
  Call(hcalls(), &Hcalls::Hcall, HcallOf("nobody", hcall::kHRead, {}));
  Scrape();
  const std::string method =
      "grpc_type=\"unary\",grpc_service=\"papr.mmu.v1.HcallService\",grpc_method=\"Hcall\"";
  EXPECT_EQ(Value("grpc_server_started_total{" + method + "}"), 4);
  EXPECT_EQ(Value("grpc_server_handled_total{" + method + ",grpc_code=\"OK\"}"), 3);
  EXPECT_EQ(Value("grpc_server_handled_total{" + method + ",grpc_code=\"NotFound\"}"), 1);
  EXPECT_EQ(Value("grpc_server_msg_received_total{" + method + "}"), 4);
  EXPECT_EQ(Value("grpc_server_msg_sent_total{" + method + "}"), 3);
  EXPECT_EQ(Value("grpc_server_handling_seconds_count{" + method + "}"), 4);
}

TEST_F(ServerMetricsTest, PartitionsAboveTheCapAreOneThatNeverGoesBack) {
  Start(1);
  for (const char* name : {"a", "b", "c"}) MustCreate(name, SmallConfig());
  for (const char* name : {"a", "b", "c"}) MustHcall(name, hcall::kHRead, {0, 0});
  Scrape();
  EXPECT_EQ(Value(Hcalls("a", "h_read", "success")), 1);
  EXPECT_EQ(Value(Hcalls("other", "h_read", "success")), 2);
  EXPECT_FALSE(Has(Hcalls("b", "h_read", "success")));
  EXPECT_EQ(Value("hptd_hpt_bytes{partition=\"other\"}"), 2 << 18);
  EXPECT_EQ(Value("hptd_partitions"), 3);
  for (const char* name : {"a", "b"}) {
    v1::DeletePartitionRequest request;
    request.set_name(name);
    Call(partitions(), &Partitions::DeletePartition, request);
  }
  MustCreate("d", SmallConfig());  // takes the label that "a" left
  MustHcall("d", hcall::kHRead, {0, 0});
  Scrape();
  EXPECT_FALSE(Has(Hcalls("a", "h_read", "success")));
  EXPECT_EQ(Value(Hcalls("d", "h_read", "success")), 1);
  EXPECT_EQ(Value(Hcalls("other", "h_read", "success")), 2);
}

}  // namespace
}  // namespace papr::server
