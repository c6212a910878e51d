#include "tests/bench/daemon.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <thread>

namespace papr::bench {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::cerr << what << "\n";
  std::exit(EXIT_FAILURE);
}

void RunOnProcessors(unsigned first, unsigned count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = first; i < first + count; ++i) CPU_SET(i, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

[[noreturn]] void Become(std::vector<std::string> arguments, int output) {
  dup2(output, STDOUT_FILENO);
  arguments.insert(arguments.begin(), HPTD_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(HPTD_BINARY, argv.data());
  std::perror(HPTD_BINARY);
  _exit(127);
}

}  // namespace

Daemon::Daemon(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe(ends) != 0) Die("pipe() failed");
  const unsigned processors = std::thread::hardware_concurrency();
  pid_ = fork();
  if (pid_ == 0) {
    if (processors > 1) RunOnProcessors(0, 1);
    Become(std::move(arguments), ends[1]);
  }
  if (processors > 1) RunOnProcessors(1, processors - 1);
  close(ends[1]);

  constexpr char kTcp[] = "listening grpc ";
  std::FILE* output = fdopen(ends[0], "r");
  char line[4096];
  bool ready = false;
  while (!ready && std::fgets(line, sizeof(line), output) != nullptr) {
    std::string text(line);
    if (text.starts_with(kTcp))
      tcp_ = text.substr(sizeof(kTcp) - 1, text.find('\n') - sizeof(kTcp) + 1);
    ready = text == "ready\n";
  }
  if (!ready) Die("hptd did not start");
}

Daemon::~Daemon() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

double Daemon::cpu_seconds() const {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    Die("no processor time of hptd");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace papr::bench
