// Runs a case of an hcall script on a machine and compares.

#ifndef CLIENT_CONFORMANCE_RUNNER_H_
#define CLIENT_CONFORMANCE_RUNNER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/conformance/script.h"
#include "client/machine.h"

namespace papr::conformance {

struct Failure {
  int line = 0;         // of the expectation that did not hold
  std::string message;  // the step, what was expected and what came, decoded
};

// What one step gave: an hcall; the H_READ of an expected entry; or, in R4, an expected count.
struct Answer {
  size_t step = 0;  // index into Case::steps
  bool crashed = false;
  hcall::HcallResult result;  // if it did not crash
};

struct CaseReport {
  std::vector<Failure> failures;
  std::map<std::string, int> defects;  // known faults, and in how many answers they showed
  std::vector<Answer> answers;         // in order, until the case ended
  // What of the case the machine cannot do, if there is something. Nothing is said then of what
  // comes after.
  std::optional<std::string> skipped;
  // UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED: the machine cannot be asked any more, nor can others
  // be made.
  absl::Status lost;
};

// Makes the partition of a case. UNIMPLEMENTED: the machine cannot be so, and the case is skipped.
using MachineFactory =
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<client::Machine>>(const Case&)>;

// Runs the steps in order on a machine of its own, and goes on after a failed expectation. A step
// that gives UNIMPLEMENTED ends the case, which counts as skipped if nothing had failed; ABORTED is
// a crash of the implementation, and ends it too; any other error ends it, and is a failure unless
// it is one of CaseReport::lost.
CaseReport RunCase(const Case& test_case, MachineFactory make_machine);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_RUNNER_H_
