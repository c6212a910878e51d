// Records histories of concurrent hypercalls, each of a seed, and checks them.

#ifndef TESTS_LINEARIZABILITY_RUN_HISTORIES_H_
#define TESTS_LINEARIZABILITY_RUN_HISTORIES_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "hcall/partition_config.h"
#include "tests/linearizability/history.h"
#include "tests/linearizability/schedule.h"

namespace papr::linearizability {

struct HistoryKind {
  Schedule::Mode mode = Schedule::Mode::kControlled;
  hcall::Profile profile = hcall::Profile::kKvmHv;
};

// The history of `seed`. Controlled, it is the same every time.
History RecordHistory(uint64_t seed, const HistoryKind& kind);

// Empty if it is linearizable; else an account for a person to read.
std::string Explain(const History& history, const HistoryKind& kind);

struct Totals {
  uint64_t histories = 0;
  uint64_t operations = 0;
  uint64_t overlaps = 0;        // pairs of operations that overlapped in time
  uint64_t entry_overlaps = 0;  // of these on one entry, both by its ptex
  uint64_t violations = 0;
  uint64_t violation_seed = 0;  // of the first
  std::string violation;        // Explain() of it
};
std::ostream& operator<<(std::ostream& out, const Totals& totals);

// Histories of `seed` and the numbers behind it, `histories` of them or up to the first violation.
Totals RunHistories(uint64_t seed, uint64_t histories, const HistoryKind& kind);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_RUN_HISTORIES_H_
