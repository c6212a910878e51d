// One line of a case: an hcall, what is expected of it, or something done to the machine.

#ifndef CLIENT_CONFORMANCE_STEP_PARSER_H_
#define CLIENT_CONFORMANCE_STEP_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/conformance/expression.h"
#include "client/conformance/script.h"

namespace papr::conformance {

// A step from its words (at least one), the first not "->". INVALID_ARGUMENT: what is wrong.
absl::StatusOr<Step> ParseStep(const std::vector<std::string>& words, const Names& names);

// What follows "->".
absl::StatusOr<Expectation> ParseExpectation(std::vector<std::string> words, const Names& names);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_STEP_PARSER_H_
