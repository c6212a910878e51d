// The host's side of the guest program's mailbox: one request at a time, through shared memory. For
// one thread.

#ifndef TESTS_CONFORMANCE_QEMU_GUEST_MAILBOX_H_
#define TESTS_CONFORMANCE_QEMU_GUEST_MAILBOX_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/conformance/qemu/guest_layout.h"

namespace papr::conformance {

// R3 to R12.
using GuestRegisters = std::array<uint64_t, GuestMailbox::kRegisters>;

class MailboxClient {
 public:
  // `ram` is the guest's, mapped, and must outlive the client. Every wait ends with
  // DEADLINE_EXCEEDED after `patience`.
  MailboxClient(std::span<std::byte> ram, std::chrono::milliseconds patience);

  // While the guest stands still: empties the mailbox, so that AwaitReady() waits for the program's
  // next start.
  void Clear();

  // `check` is called now and then during a wait, and ends it by an error.
  using Check = absl::FunctionRef<absl::Status()>;
  absl::Status AwaitReady(Check check);
  absl::StatusOr<GuestRegisters> Call(uint64_t operation, const GuestRegisters& registers,
                                      Check check);

 private:
  absl::Status AwaitWord(uint64_t* word, uint64_t value, Check check);

  GuestMailbox* const mailbox_;
  const std::chrono::milliseconds patience_;
  uint64_t sequence_ = 0;
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_GUEST_MAILBOX_H_
