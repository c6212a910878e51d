// A running QEMU with the guest program in it: its RAM, its mailbox, and its control. QEMU ends
// with this object, or with the thread that started it.
//
// For one thread. Errors of every function: ABORTED, with its last words, if QEMU has ended (it
// ends by an assertion in a few states of the table); DEADLINE_EXCEEDED if it does not answer, and
// then it is killed.

#ifndef TESTS_CONFORMANCE_QEMU_QEMU_PROCESS_H_
#define TESTS_CONFORMANCE_QEMU_QEMU_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/conformance/child_process.h"
#include "tests/conformance/qemu/guest_mailbox.h"
#include "tests/conformance/qemu/qemu_settings.h"
#include "tests/conformance/qemu/qmp_client.h"

namespace papr::conformance {

class QemuProcess {
 public:
  // Starts QEMU ($HPTD_QEMU, or qemu-system-ppc64) and leaves it paused: Reset() comes next.
  static absl::StatusOr<std::unique_ptr<QemuProcess>> Start(const QemuSettings& settings);
  ~QemuProcess();

  QemuProcess(const QemuProcess&) = delete;
  QemuProcess& operator=(const QemuProcess&) = delete;

  const QemuSettings& settings() const { return settings_; }

  // Machine reset: a new, empty table of NativeOrder(), and the guest program polling. RAM stays.
  absl::Status Reset();
  // Stops the machine, so that it takes no processor time, until the next Reset().
  absl::Status Pause();
  bool usable() { return !failed_ && process_->Running(); }

  // One request to the guest program (guest_layout.h).
  absl::StatusOr<GuestRegisters> Call(uint64_t operation, const GuestRegisters& registers);

  // The guest's RAM. What the guest program occupies must not be written.
  std::span<std::byte> ram() { return ram_; }

 private:
  QemuProcess(const QemuSettings& settings, std::span<std::byte> ram,
              std::unique_ptr<ChildProcess> process);

  // `status`, with what QEMU said if it has ended. Kills it after an error.
  absl::Status Explain(const absl::Status& status);

  const QemuSettings settings_;
  const std::span<std::byte> ram_;
  const std::unique_ptr<ChildProcess> process_;
  QmpClient control_;
  MailboxClient mailbox_;
  bool failed_ = false;
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QEMU_PROCESS_H_
