// What the threads of a test did to a partition and when: hypercalls and table walks, with times of
// a clock that all threads share.

#ifndef TESTS_LINEARIZABILITY_HISTORY_H_
#define TESTS_LINEARIZABILITY_HISTORY_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hcall/abi.h"
#include "hcall/partition.h"

namespace papr::linearizability {

// One operation as its caller saw it. It took effect at some moment between `called` and
// `returned`.
struct Operation {
  int thread = 0;
  uint64_t called = 0;
  uint64_t returned = 0;
  // The operation before it in the same batch, by position in the history: one batch takes effect
  // in order. -1: none.
  int after = -1;

  std::optional<hcall::ReferenceChange> walk;  // a table walk; else a hypercall
  hcall::HcallRequest request;
  hcall::HcallResult result;
  bool walk_found = false;  // the walk's entry was valid
};

using History = std::vector<Operation>;

// What a thread does between two looks at the clock: a table walk, or a batch of hypercalls.
struct Action {
  std::optional<hcall::ReferenceChange> walk{};
  std::vector<hcall::HcallRequest> hcalls{};  // more than one: DispatchBatch()
};

// Carries out actions of one thread and keeps what came of them.
class Recorder {
 public:
  // `clock` is shared by all recorders of a history.
  Recorder(hcall::Partition& partition, std::atomic<uint64_t>& clock, int thread)
      : partition_(partition), clock_(clock), thread_(thread) {}

  void Run(const Action& action);

  // Appends what was recorded to `history`.
  void MoveTo(History& history);

 private:
  void Walk(const hcall::ReferenceChange& walk);
  void Call(const std::vector<hcall::HcallRequest>& hcalls);

  hcall::Partition& partition_;
  std::atomic<uint64_t>& clock_;
  const int thread_;
  History recorded_;
};

// "t2 [15,22] H_REMOVE(0x80000000, 0x3ff0, 0x1f80) = H_SUCCESS (0x1f81, 0xfff012)".
std::string Describe(const Operation& operation);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_HISTORY_H_
