// hptd: see --help.

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/flags.h"
#include "server/log.h"
#include "server/server.h"
#include "server/version.h"

namespace papr::server {
namespace {

// The part of --drain_timeout that calls in progress get before they are cancelled; the rest is for
// what they then need to end.
absl::Duration Grace(absl::Duration timeout) { return timeout * 0.9; }

// SIGTERM and SIGINT, blocked in every thread started later, for sigwait().
sigset_t BlockSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int WaitForSignal(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

// False if standard output does not take it: who waits for these lines would wait forever.
bool Announce(const Server& server) {
  for (const std::string& address : server.grpc_addresses()) {
    std::printf("listening grpc %s\n", address.c_str());
    Log(LogLevel::kInfo, "listening", {{"protocol", "grpc"}, {"address", address}});
  }
  if (const std::string path = server.unix_socket(); !path.empty()) {
    std::printf("listening unix %s\n", path.c_str());
    Log(LogLevel::kInfo, "listening", {{"protocol", "unix"}, {"address", path}});
  }
  if (const std::string url = server.metrics_url(); !url.empty()) {
    std::printf("listening metrics %s\n", url.c_str());
    Log(LogLevel::kInfo, "listening", {{"protocol", "metrics"}, {"address", url}});
  }
  std::printf("ready\n");
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// Drains within `timeout`. Does not return if something still runs then: a scan of a huge table is
// not worth a supervisor's patience.
void DrainOrExit(std::unique_ptr<Server> server, absl::Duration timeout) {
  const std::string unix_socket = server->unix_socket();
  std::promise<void> promise;
  std::future<void> drained = promise.get_future();
  std::thread drain([server = std::move(server), &promise, timeout]() mutable {
    server->Drain(Grace(timeout));
    server.reset();
    promise.set_value();
  });
  if (drained.wait_for(absl::ToChronoNanoseconds(timeout)) == std::future_status::timeout) {
    Log(LogLevel::kWarning, "drain_timeout", {{"after", absl::FormatDuration(timeout)}});
    if (!unix_socket.empty()) unlink(unix_socket.c_str());
    std::fflush(stdout);
    std::_Exit(EXIT_SUCCESS);
  }
  drain.join();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "hptd: %s\n", std::string(status.message()).c_str());
  return EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  auto line = ParseFlags(argc, argv);
  if (!line.ok()) return Fail(line.status());
  // Its number would go to some socket, and the announcement with it.
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
    return Fail(absl::FailedPreconditionError("standard output is closed"));
  }
  StartLogging(line->log_level);
  const sigset_t signals = BlockSignals();
  auto server = Server::Start(line->server);
  if (!server.ok()) return Fail(server.status());
  Log(LogLevel::kInfo, "started",
      {{"version", kVersion}, {"partitions", absl::StrCat(line->server.partitions.size())}});
  if (!Announce(**server)) {
    Log(LogLevel::kError, "announce_failed", {{"error", strerror(errno)}});
    return EXIT_FAILURE;
  }

  const int first = WaitForSignal(signals);
  Log(LogLevel::kInfo, "draining", {{"signal", strsignal(first)}});
  std::thread([signals] { std::_Exit(128 + WaitForSignal(signals)); }).detach();
  DrainOrExit(*std::move(server), line->drain_timeout);
  Log(LogLevel::kInfo, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace papr::server

int main(int argc, char** argv) { return papr::server::Main(argc, argv); }
