// A run of the vectors, as the table of differences needs it: from a report in this process, or
// from the JSON document that hptctl printed.

#ifndef TESTS_CONFORMANCE_DIFFERENCES_RUN_RECORD_H_
#define TESTS_CONFORMANCE_DIFFERENCES_RUN_RECORD_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "client/conformance/suite.h"

namespace papr::conformance {

// What a step is known by in all columns: its text (of an "expect", without what it expects), and
// how many of that text came before it in the case.
using StepKey = std::pair<std::string, int>;

// Gives the steps of a case their keys, in order.
class StepKeys {
 public:
  StepKey Next(const std::string& text);

 private:
  std::map<std::string, int> count_;
};

struct RunRecord {
  std::string target;
  size_t passed = 0;
  size_t failed = 0;
  std::map<std::string, int> skipped;  // why -> cases
  std::map<std::string, int> defects;  // known faults -> in how many answers
  // By file, line of the case, and step. Answer::step is not set.
  std::map<std::tuple<std::string, int, StepKey>, Answer> answers;
};

RunRecord RecordOf(const SuiteReport& report, const std::string& target);
// The one run of a document that `hptctl conformance --json` printed. INVALID_ARGUMENT: it is none.
absl::StatusOr<RunRecord> RecordOf(const nlohmann::json& document);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_DIFFERENCES_RUN_RECORD_H_
