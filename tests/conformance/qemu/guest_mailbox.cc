#include "tests/conformance/qemu/guest_mailbox.h"

#include <endian.h>

#include <atomic>
#include <thread>

namespace papr::conformance {
namespace {

using std::chrono::steady_clock;

void StoreRelease(uint64_t* word, uint64_t value) {
  std::atomic_ref<uint64_t>(*word).store(htobe64(value), std::memory_order_release);
}

uint64_t LoadAcquire(uint64_t* word) {
  return be64toh(std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire));
}

}  // namespace

MailboxClient::MailboxClient(std::span<std::byte> ram, std::chrono::milliseconds patience)
    : mailbox_(reinterpret_cast<GuestMailbox*>(ram.data() + GUEST_MAILBOX)), patience_(patience) {}

void MailboxClient::Clear() {
  sequence_ = 0;
  StoreRelease(&mailbox_->request_sequence, 0);
  StoreRelease(&mailbox_->answer_sequence, 0);
  StoreRelease(&mailbox_->ready, 0);
}

absl::Status MailboxClient::AwaitReady(Check check) {
  return AwaitWord(&mailbox_->ready, GUEST_READY, check);
}

absl::StatusOr<GuestRegisters> MailboxClient::Call(uint64_t operation,
                                                   const GuestRegisters& registers, Check check) {
  mailbox_->operation = htobe64(operation);
  for (int i = 0; i < GuestMailbox::kRegisters; ++i) {
    mailbox_->request_registers[i] = htobe64(registers[i]);
  }
  StoreRelease(&mailbox_->request_sequence, ++sequence_);
  const absl::Status answered = AwaitWord(&mailbox_->answer_sequence, sequence_, check);
  if (!answered.ok()) return answered;
  GuestRegisters answer;
  for (int i = 0; i < GuestMailbox::kRegisters; ++i) {
    answer[i] = be64toh(mailbox_->answer_registers[i]);
  }
  return answer;
}

// Most answers come within microseconds, so it spins first; a long wait must not take a core from
// the guest.
absl::Status MailboxClient::AwaitWord(uint64_t* word, uint64_t value, Check check) {
  constexpr int kSpins = 2000;
  for (int i = 0; i < kSpins; ++i) {
    if (LoadAcquire(word) == value) return absl::OkStatus();
  }
  constexpr auto kYieldFor = std::chrono::microseconds(50);
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < kYieldFor) {
    if (LoadAcquire(word) == value) return absl::OkStatus();
    std::this_thread::yield();
  }
  while (steady_clock::now() - start < patience_) {
    if (LoadAcquire(word) == value) return absl::OkStatus();
    if (const absl::Status status = check(); !status.ok()) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return absl::DeadlineExceededError("the guest program does not answer");
}

}  // namespace papr::conformance
