// Runs the cases of an hcall script against a partition.

#ifndef TESTS_CONFORMANCE_SCRIPT_RUNNER_H_
#define TESTS_CONFORMANCE_SCRIPT_RUNNER_H_

#include <string>
#include <vector>

#include "client/machine.h"
#include "tests/conformance/script.h"

namespace papr::conformance {

struct Failure {
  int line = 0;         // of the expectation that did not hold
  std::string message;  // the step, what was expected and what came, decoded
};

// Runs the steps in order on a machine made of the case's configuration, and goes on after a
// failed expectation. A transport error ends the case and is a failure.
std::vector<Failure> RunCase(const Case& test_case, client::Machine& machine);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_SCRIPT_RUNNER_H_
