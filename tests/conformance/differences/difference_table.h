// Where PAPR, Linux KVM-HV and QEMU disagree, and what hptd answers there: hcall/DIFFERENCES.md,
// made of the vectors and of runs of them.

#ifndef TESTS_CONFORMANCE_DIFFERENCES_DIFFERENCE_TABLE_H_
#define TESTS_CONFORMANCE_DIFFERENCES_DIFFERENCE_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/conformance/suite.h"
#include "tests/conformance/differences/run_record.h"

namespace papr::conformance {

struct Runs {
  RunRecord kvm_hv;    // hptd, profile kvm-hv
  RunRecord qemu_tcg;  // hptd, profile qemu-tcg
  RunRecord qemu;      // a live QEMU
};

// The whole of DIFFERENCES.md. INVALID_ARGUMENT: a script is malformed; FAILED_PRECONDITION: a run
// had failures, or a fault of QEMU that the scripts declare showed nowhere.
absl::StatusOr<std::string> DifferencesDocument(const std::vector<ScriptFile>& files,
                                                const Runs& runs);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_DIFFERENCES_DIFFERENCE_TABLE_H_
