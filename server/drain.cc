#include "server/drain.h"

#include <grpc/grpc.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "absl/time/clock.h"

namespace papr::server {
namespace {

// gRPC cuts a call off without an answer that arrives after Shutdown() and before the client has
// seen the GOAWAY. So refusals are first held back: callers that wait for their answers soon have
// none left to send. When nothing has begun or ended for kQuiet, or after kFarewell whatever
// comes, connections are closed to new calls, and kGoAway later the refusals are sent.
constexpr absl::Duration kQuiet = absl::Milliseconds(200);
constexpr absl::Duration kFarewell = absl::Seconds(1);
constexpr absl::Duration kGoAway = absl::Milliseconds(50);

// After the last call has ended: for its answer to leave.
constexpr absl::Duration kLinger = absl::Milliseconds(50);

constexpr absl::Duration kPoll = absl::Milliseconds(10);

void WaitUntilQuiet(const RpcMetrics& rpcs, absl::Time end) {
  RpcMetrics::Load before = rpcs.OwnLoad();
  absl::Time since = absl::Now();
  while (absl::Now() < std::min(end, since + kQuiet)) {
    absl::SleepFor(kPoll);
    const RpcMetrics::Load now = rpcs.OwnLoad();
    if (now == before) continue;
    before = now;
    since = absl::Now();
  }
}

void WaitUntilNoneRuns(const RpcMetrics& rpcs, absl::Time end) {
  while (absl::Now() < end) {
    const RpcMetrics::Load load = rpcs.OwnLoad();
    if (load.started == load.ended) {
      absl::SleepFor(std::min(kLinger, end - absl::Now()));
      return;
    }
    absl::SleepFor(kPoll);
  }
}

}  // namespace

void DrainGrpc(grpc::Server& server, DrainState& state, const RpcMetrics& rpcs,
               absl::Duration grace) {
  const absl::Time end = absl::Now() + grace;
  WaitUntilQuiet(rpcs, absl::Now() + std::min(grace / 2, kFarewell));
  const std::future<void> done =
      std::async(std::launch::async, [&server, end] { server.Shutdown(absl::ToChronoTime(end)); });
  absl::SleepFor(std::min(grace / 10, kGoAway));
  state.Release();
  WaitUntilNoneRuns(rpcs, end);
  // What is left are silent connections and streams of health checks and reflection, which end
  // only when they are told to. More than once, as Shutdown() may not have got far yet.
  while (done.wait_for(absl::ToChronoNanoseconds(kPoll)) != std::future_status::ready) {
    grpc_server_cancel_all_calls(server.c_server());
  }
  server.Wait();
}

}  // namespace papr::server
