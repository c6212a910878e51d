// Is there an order of concurrent steps that agrees with their times and with the sequential model?
// The search of Wing and Gong (1993) as Lowe (2017) made it fast: calls and returns in a linked
// list, and a cache of what was tried, by the set of steps put in order and the state they lead to.

#ifndef TESTS_LINEARIZABILITY_CHECKER_H_
#define TESTS_LINEARIZABILITY_CHECKER_H_

#include <vector>

#include "tests/linearizability/pair_model.h"

namespace papr::linearizability {

// Steps that one check can hold.
inline constexpr size_t kMaxSteps = 256;

struct Verdict {
  bool linearizable = false;
  // The steps in an order that explains them; if there is none, the longest beginning of one that
  // was found, and the state that it leads to.
  std::vector<int> order;
  PairState state;
};

// `steps` of one pair, at most kMaxSteps, on entries that all read as `ground` at first. A step
// comes before another if it returned before the other was called.
Verdict Check(const std::vector<PairStep>& steps, const model::Entry& ground);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_CHECKER_H_
