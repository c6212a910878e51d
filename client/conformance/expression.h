// Numbers of an hcall script: literals, names, sums and products, as `E1_R+LP*0x1000`.
// tests/conformance/vectors/README.md has the grammar.

#ifndef CLIENT_CONFORMANCE_EXPRESSION_H_
#define CLIENT_CONFORMANCE_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace papr::conformance {

// Values of names: `let` and `for` define them.
using Names = std::map<std::string, uint64_t, std::less<>>;

// The names that every script knows: the flags of LoPAR's flags word (EXACT, AVPN, ...) and the
// bits of V and R (VALID, BOLTED, CHANGED, ...).
Names PredefinedNames();

// Value of an expression, modulo 2^64. INVALID_ARGUMENT: not one, or an unknown name.
absl::StatusOr<uint64_t> Evaluate(std::string_view text, const Names& names);

// "H_SUCCESS", "-6" or "9902". INVALID_ARGUMENT: neither a known name nor a number.
absl::StatusOr<int64_t> ParseReturnCode(std::string_view text);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_EXPRESSION_H_
