// Takes a history apart into steps on single pairs of PTEGs, which can be checked one pair at a
// time: a history is linearizable exactly if its part on each pair is.
//
// A call on several entries is promised to be atomic for each of them only, and becomes as many
// steps that share its interval: H_READ with READ_4, the specifiers of H_BULK_REMOVE,
// H_HASH_BULK_REMOVE (in their order) and H_BLOCK_REMOVE.

#ifndef TESTS_LINEARIZABILITY_SPLIT_H_
#define TESTS_LINEARIZABILITY_SPLIT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/linearizability/history.h"
#include "tests/linearizability/pair_model.h"

namespace papr::linearizability {

struct TableShape {
  uint64_t group_mask = 0;  // number of groups less 1
  bool qemu = false;        // profile
};

// By pair (Place::pair).
using PairHistories = std::map<uint64_t, std::vector<PairStep>>;

// INTERNAL: an answer that no state of the table explains, such as a register that changed and
// should not have. Every call must be of those that the workload makes (workload.h).
absl::StatusOr<PairHistories> Split(const History& history, const TableShape& shape);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_SPLIT_H_
