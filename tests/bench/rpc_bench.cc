// What a unary Hcall costs against grpc.health.v1 Check, the cheapest RPC that the same server has,
// and what HcallBatch gains over one hcall an RPC.
//
// The real daemon, on a processor of its own where there are two; one connection with 32 RPCs in
// flight from one thread, which keeps that processor busy ("server_load" is how much of it). The
// hcalls are H_ENTER and H_REMOVE of the same page in turn, each RPC in flight on PTEGs of its own,
// and every one must succeed.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "hcall/abi.h"
#include "papr/mmu/v1/hcall.pb.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/daemon.h"
#include "tests/bench/paired.h"

namespace papr::bench {
namespace {

using std::chrono::milliseconds;

constexpr int kPairs = 11;
constexpr milliseconds kSampleTime{200};
constexpr int kLanes = 32;
constexpr int kBatchHcalls = 64;
constexpr char kPartition[] = "bench";

constexpr uint64_t kV = 0x8001;     // some page, valid
constexpr uint64_t kR = 0x1234012;  // RAM, coherent, read and write

// H_ENTER or H_REMOVE of the page of `pteg`, and what it returns.
void AddEnter(uint64_t pteg, mmu::v1::Hcall* hcall, mmu::v1::HcallResult* result) {
  hcall->set_opcode(hcall::kHEnter);
  for (const uint64_t argument : {uint64_t{0}, pteg * 8, kV, kR}) hcall->add_arguments(argument);
  result->add_outputs(pteg * 8);
}
void AddRemove(uint64_t pteg, mmu::v1::Hcall* hcall, mmu::v1::HcallResult* result) {
  hcall->set_opcode(hcall::kHRemove);
  for (const uint64_t argument : {uint64_t{0}, pteg * 8}) hcall->add_arguments(argument);
  result->add_outputs(kV);
  result->add_outputs(kR);
}

Load HcallLoad() {
  Load load{"/papr.mmu.v1.HcallService/Hcall", {}};
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    std::vector<Exchange> exchanges;
    for (const auto add : {AddEnter, AddRemove}) {
      mmu::v1::HcallRequest request;
      mmu::v1::HcallResponse response;
      request.set_partition(kPartition);
      add(lane, request.mutable_hcall(), response.mutable_result());
      exchanges.push_back(MakeExchange(request, response));
    }
    load.lanes.push_back(std::move(exchanges));
  }
  return load;
}

Load BatchLoad() {
  Load load{"/papr.mmu.v1.HcallService/HcallBatch", {}};
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    mmu::v1::HcallBatchRequest request;
    mmu::v1::HcallBatchResponse response;
    request.set_partition(kPartition);
    for (int i = 0; i < kBatchHcalls / 2; ++i) {
      const uint64_t pteg = kLanes + lane * (kBatchHcalls / 2) + i;
      AddEnter(pteg, request.add_hcalls(), response.add_results());
      AddRemove(pteg, request.add_hcalls(), response.add_results());
    }
    load.lanes.push_back({MakeExchange(request, response)});
  }
  return load;
}

// HealthCheckRequest of the whole server is empty; the response is field 1, SERVING.
Load CheckLoad() {
  const mmu::v1::HcallRequest empty;
  Exchange exchange = MakeExchange(empty, empty);
  exchange.response_bytes = 2;
  return {"/grpc.health.v1.Health/Check", {kLanes, std::vector<Exchange>{exchange}}};
}

enum class Transport : uint8_t { kUnixSocket, kTcp };

// The daemon and the three loads on it, over one transport.
class Bench {
 public:
  explicit Bench(Transport transport)
      : daemon_({"--listen=127.0.0.1:0", "--unix_socket=" + Socket(), "--metrics_listen=",
                 "--log_level=error", std::string("--partition=order=24,name=") + kPartition}),
        target_(transport == Transport::kTcp ? daemon_.tcp() : "unix:" + Socket()) {}

  // How many times A's hcalls (or calls) a second are those of B.
  void CompareRates(benchmark::State& state, ClosedLoop& a, int hcalls_a, ClosedLoop& b,
                    double bar) {
    a.SecondsACall(kSampleTime);  // connects, warms up
    b.SecondsACall(kSampleTime);
    const double cpu_before = daemon_.cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const PairedRatio ratio = ComparePairs(
        kPairs, [&] { return hcalls_a / a.SecondsACall(kSampleTime); },
        [&] { return 1 / b.SecondsACall(kSampleTime); });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    state.counters["value"] = ratio.median;
    state.counters["lower_quartile"] = ratio.lower_quartile;
    state.counters["upper_quartile"] = ratio.upper_quartile;
    state.counters["a_second"] = ratio.median_a;
    state.counters["a_second_base"] = ratio.median_b;
    state.counters["server_load"] = (daemon_.cpu_seconds() - cpu_before) / elapsed.count();
    state.counters["bar_at_least"] = bar;
  }

  const std::string& target() const { return target_; }

 private:
  static std::string Socket() { return "/tmp/hptd-bench-" + std::to_string(getpid()); }

  Daemon daemon_;
  std::string target_;
};

// Unary Hcall rate over Check rate.
void HcallOverCheck(benchmark::State& state, Transport transport) {
  const Load hcall_load = HcallLoad();
  const Load check_load = CheckLoad();
  for (auto _ : state) {
    Bench bench(transport);
    ClosedLoop hcall(bench.target(), hcall_load);
    ClosedLoop check(bench.target(), check_load);
    bench.CompareRates(state, hcall, 1, check, 0.7);
  }
}

// Hcalls a second in batches of 64 over those of unary Hcall.
void Batch64OverHcall(benchmark::State& state, Transport transport) {
  const Load batch_load = BatchLoad();
  const Load hcall_load = HcallLoad();
  for (auto _ : state) {
    Bench bench(transport);
    ClosedLoop batch(bench.target(), batch_load);
    ClosedLoop hcall(bench.target(), hcall_load);
    bench.CompareRates(state, batch, kBatchHcalls, hcall, 20);
  }
}

BENCHMARK_CAPTURE(HcallOverCheck, unix, Transport::kUnixSocket)->Iterations(1);
BENCHMARK_CAPTURE(HcallOverCheck, tcp, Transport::kTcp)->Iterations(1);
BENCHMARK_CAPTURE(Batch64OverHcall, unix, Transport::kUnixSocket)->Iterations(1);
BENCHMARK_CAPTURE(Batch64OverHcall, tcp, Transport::kTcp)->Iterations(1);

}  // namespace
}  // namespace papr::bench

BENCHMARK_MAIN();
