// One line of a case: an hcall, what is expected of it, or something done to the machine.

#ifndef TESTS_CONFORMANCE_SCRIPT_STEP_H_
#define TESTS_CONFORMANCE_SCRIPT_STEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/conformance/script.h"
#include "tests/conformance/script_expression.h"

namespace papr::conformance {

// A step from its words (at least one), the first not "->". INVALID_ARGUMENT: what is wrong.
absl::StatusOr<Step> ParseStep(const std::vector<std::string>& words, const Names& names);

// What follows "->".
absl::StatusOr<Expectation> ParseExpectation(const std::vector<std::string>& words,
                                             const Names& names);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_SCRIPT_STEP_H_
