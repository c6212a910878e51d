// A partition whose table is resized again and again while other threads issue hypercalls on it,
// and what must hold all the time:
//
// - bolted pages are found by hash at any moment, and in the end each stands in the table once;
// - an unbolted entry that was entered before a commit does not show after it: a ptex of the old
//   table is never applied to the new one;
// - a valid V is never seen with the R of another entry;
// - no hypercall answers anything but what it may answer without a resize.

#ifndef TESTS_LINEARIZABILITY_RESIZE_LOAD_H_
#define TESTS_LINEARIZABILITY_RESIZE_LOAD_H_

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hcall/partition.h"

namespace papr::linearizability {

class ResizeLoad {
 public:
  ResizeLoad(uint64_t seed, hcall::Profile profile, hcall::ResizePreparation preparation);

  // For one thread: resizes `commits` times, to order 18, 19 or 20.
  void Resize(int commits);
  // For any number of others: hypercalls until Resize() is done, and at least `calls`.
  void Use(int thread, int calls);

  // When all threads are done. Empty if all held; else what did not.
  std::string Verdict();

 private:
  struct Entered {
    uint64_t returned = 0;  // time of H_ENTER's return
    uint64_t v = 0;
  };
  struct Seen {
    uint64_t called = 0;  // time of the call that saw it
    uint64_t v = 0;
    uint64_t r = 0;
  };
  struct Commit {
    uint64_t called = 0;
    uint64_t returned = 0;
  };

  hcall::HcallResult Call(uint64_t opcode, std::initializer_list<uint64_t> arguments);
  uint64_t Now() { return clock_.fetch_add(1); }
  void EnterBolted();
  void PrepareTable(int order);
  void UseOnce(uint64_t choice);
  void Enter(uint64_t choice, uint64_t ptex);
  void See(uint64_t called, uint64_t v, uint64_t r);
  void Complain(const std::string& what);
  void Expect(const hcall::HcallResult& result, std::initializer_list<int64_t> codes,
              const char* call);
  void CheckSightings();
  void CheckBolted();

  const uint64_t seed_;
  const hcall::ResizePreparation preparation_;
  std::unique_ptr<hcall::Partition> partition_;
  std::atomic<uint64_t> clock_{1};
  std::atomic<uint64_t> next_page_{1};
  std::atomic<bool> done_{false};

  std::mutex mutex_;              // never held over a hypercall; guards the rest
  std::vector<Entered> entered_;  // by real page number, of unbolted entries
  std::vector<Seen> seen_;        // likewise
  std::vector<Commit> commits_;
  std::string complaint_;  // the first
};

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_RESIZE_LOAD_H_
