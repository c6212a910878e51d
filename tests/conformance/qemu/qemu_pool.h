// Keeps one QEMU running for the machines that come one after the other: starting one takes longer
// than resetting it. For one thread.

#ifndef TESTS_CONFORMANCE_QEMU_QEMU_POOL_H_
#define TESTS_CONFORMANCE_QEMU_QEMU_POOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tests/conformance/qemu/qemu_process.h"
#include "tests/conformance/qemu/qemu_settings.h"

namespace papr::conformance {

class QemuPool {
 public:
  // A process with `settings`, fresh from a reset: the idle one if it fits and works, or a new one.
  // Errors as QemuProcess.
  absl::StatusOr<std::unique_ptr<QemuProcess>> Acquire(const QemuSettings& settings);
  // Takes a process back; it stays idle, or ends if it has failed.
  void Release(std::unique_ptr<QemuProcess> process);

 private:
  std::unique_ptr<QemuProcess> idle_;
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QEMU_POOL_H_
