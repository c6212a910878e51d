// Lines of the protocol between the runner and an adapter, in numbers and back. Requests are
//
//   hello VERSION                          answered: ok COLUMN NAME...
//   create SPEC
//   hcall OPCODE R4 ... R12 [problem-state]          ok CODE R4 ... R12
//   touch PTEX R|C|RC
//   finish ORDER CODE
//   reset
//   statistics                                       ok ORDER VALID
//
// and answers "ok ...", "unsupported WHY", "crashed WHY" or "error WHY". OPCODE, registers and PTEX
// are hexadecimal with 0x, all else decimal. tests/conformance/README.md says what each means.

#ifndef CLIENT_CONFORMANCE_ADAPTER_PROTOCOL_H_
#define CLIENT_CONFORMANCE_ADAPTER_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hcall/abi.h"
#include "hcall/partition.h"

namespace papr::conformance {

inline constexpr int kAdapterProtocolVersion = 1;

std::string FormatHcall(const hcall::HcallRequest& request);
absl::StatusOr<hcall::HcallRequest> ParseHcall(std::string_view line);

std::string FormatHcallAnswer(const hcall::HcallResult& result);  // without "ok"
absl::StatusOr<hcall::HcallResult> ParseHcallAnswer(std::string_view text);

std::string FormatTouch(const hcall::ReferenceChange& update);
absl::StatusOr<hcall::ReferenceChange> ParseTouch(std::string_view line);

// The answer that `status` makes: "ok", or "unsupported" (UNIMPLEMENTED), "crashed" (ABORTED) or
// "error" with its message in one line.
std::string FormatAnswer(const absl::Status& status);
// What follows "ok", or the error that the answer tells: UNIMPLEMENTED, ABORTED or INTERNAL.
// INVALID_ARGUMENT: no answer of the protocol.
absl::StatusOr<std::string> ParseAnswer(std::string_view line);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_ADAPTER_PROTOCOL_H_
