// Which QEMU is run.

#ifndef TESTS_CONFORMANCE_QEMU_QEMU_PROGRAM_H_
#define TESTS_CONFORMANCE_QEMU_QEMU_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace papr::conformance {

// $HPTD_QEMU, or qemu-system-ppc64.
std::string QemuProgram();

// Its series, "7.2". NOT_FOUND: it cannot be run, and how to get it.
absl::StatusOr<std::string> QemuVersion();

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QEMU_PROGRAM_H_
