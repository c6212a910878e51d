// Where the guest program of guest.S keeps what it shares with the host, and the words of its
// mailbox: included by C++ and, for the numbers, by the assembler's source.
//
// Everything in the mailbox is a big-endian doubleword. The host writes a request and then its
// sequence number; the guest carries it out, writes the answer and then the same number as the
// answer's.

#ifndef TESTS_CONFORMANCE_QEMU_GUEST_LAYOUT_H_
#define TESTS_CONFORMANCE_QEMU_GUEST_LAYOUT_H_

// Real addresses. Nothing but the guest program may change what lies from GUEST_BASE to GUEST_END.
#define GUEST_BASE 0x3000000
#define GUEST_ENTRY 0x100
#define GUEST_MAILBOX 0x3010000
#define GUEST_BUFFER 0x3100000
#define GUEST_END 0x3200000

// Offsets in the mailbox.
#define MAILBOX_READY 0x00
#define MAILBOX_REQUEST_SEQUENCE 0x08
#define MAILBOX_OPERATION 0x10
#define MAILBOX_REQUEST_REGISTERS 0x18
#define MAILBOX_ANSWER_SEQUENCE 0x80
#define MAILBOX_ANSWER_REGISTERS 0x88

// What the guest writes to MAILBOX_READY when it begins to poll.
#define GUEST_READY 0x6871656d

// Operations. Registers are R3 to R12 of request and answer.

// "sc 1" with R3 to R12 as given; R3 to R12 as it left them.
#define OPERATION_HCALL 1

// An access of one byte through the MMU, R3: effective address, R4 and R5: the doublewords that
// slbmte takes from RS and RB, for entry 1, R6: what to do, R7: the byte to store.
// Answer, R3: vector of the interrupt that the access raised, or 0, R4: DSISR, R5: DAR, R6: the
// byte that was loaded.
#define OPERATION_ACCESS 2
#define ACCESS_LOAD 1
#define ACCESS_STORE 2       // the byte of R7
#define ACCESS_STORE_BACK 3  // load, then store what was loaded

// H_READ with H_READ_4 from entry R3 on, R4 times, to GUEST_BUFFER.
// Answer, R3: the first return code that is not H_SUCCESS, or 0.
#define OPERATION_READ_TABLE 3

// H_ENTER with H_EXACT of the words R5 and R6 to four entries, then H_BULK_REMOVE of them, R4 times
// from entry R3 on. Answer, R3: as for OPERATION_READ_TABLE.
#define OPERATION_AGE_TABLE 4

// R3 hcalls, one after the other, whose R3 to R12 stand in GUEST_BUFFER, and are replaced by what
// each left in them. R4 not 0: stop after the first that does not return H_SUCCESS.
// Answer, R3: how many ran.
#define OPERATION_BATCH 5
#define BATCH_HCALL_BYTES 80

#ifndef __ASSEMBLER__

#include <array>
#include <cstddef>
#include <cstdint>

namespace papr::conformance {

struct GuestMailbox {
  static constexpr int kRegisters = 10;  // R3 to R12

  uint64_t ready;
  uint64_t request_sequence;
  uint64_t operation;
  std::array<uint64_t, kRegisters> request_registers;
  uint64_t unused[3];
  uint64_t answer_sequence;
  std::array<uint64_t, kRegisters> answer_registers;
};
static_assert(offsetof(GuestMailbox, ready) == MAILBOX_READY);
static_assert(offsetof(GuestMailbox, request_sequence) == MAILBOX_REQUEST_SEQUENCE);
static_assert(offsetof(GuestMailbox, operation) == MAILBOX_OPERATION);
static_assert(offsetof(GuestMailbox, request_registers) == MAILBOX_REQUEST_REGISTERS);
static_assert(offsetof(GuestMailbox, answer_sequence) == MAILBOX_ANSWER_SEQUENCE);
static_assert(offsetof(GuestMailbox, answer_registers) == MAILBOX_ANSWER_REGISTERS);

inline constexpr uint64_t kGuestBufferBytes = GUEST_END - GUEST_BUFFER;
static_assert(GUEST_MAILBOX + sizeof(GuestMailbox) <= GUEST_BUFFER);

}  // namespace papr::conformance

#endif  // __ASSEMBLER__

#endif  // TESTS_CONFORMANCE_QEMU_GUEST_LAYOUT_H_
