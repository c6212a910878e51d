// The arguments of hcalls by the names that scripts and messages use.

#ifndef CLIENT_CONFORMANCE_ARGUMENT_NAMES_H_
#define CLIENT_CONFORMANCE_ARGUMENT_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace papr::conformance {

// Names of the arguments R4, R5, ... of a call, as LoPAR has them; empty for one that is not known.
std::vector<std::string> ArgumentNames(uint64_t opcode);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_ARGUMENT_NAMES_H_
