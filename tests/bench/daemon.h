// The real hptd as a child process of a benchmark.

#ifndef TESTS_BENCH_DAEMON_H_
#define TESTS_BENCH_DAEMON_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace papr::bench {

// Starts hptd with `arguments`, waits until it is ready, and ends it with SIGTERM when it goes.
// Aborts the benchmark if it does not start. With two processors or more it runs on processor 0
// alone and the benchmark on the others, so that what is measured is the daemon and not the
// scheduler.
class Daemon {
 public:
  explicit Daemon(std::vector<std::string> arguments);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // "127.0.0.1:PORT".
  const std::string& tcp() const { return tcp_; }
  // Processor time that it has used so far, all threads.
  double cpu_seconds() const;

 private:
  pid_t pid_ = -1;
  std::string tcp_;
};

}  // namespace papr::bench

#endif  // TESTS_BENCH_DAEMON_H_
