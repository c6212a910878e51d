// Registers of hcalls in words, for the messages of failed expectations.

#ifndef CLIENT_CONFORMANCE_DESCRIBE_H_
#define CLIENT_CONFORMANCE_DESCRIBE_H_

#include <cstdint>
#include <string>

#include "hcall/abi.h"

namespace papr::conformance {

// "H_PARAMETER (-4)".
std::string DescribeReturnCode(int64_t code);
// "0x1f81 (256M avpn 0x1f80 valid)".
std::string DescribeV(uint64_t v);
// "0xfff192 (rpn 0xfff000 pp 2 key 0 wimg 2 R C)".
std::string DescribeR(uint64_t r);
// Value of register R4 + `index` after `opcode`: an HPTE word, a bulk or block response or a
// number.
std::string DescribeOutput(const hcall::HcallRequest& request, int index, uint64_t value);

// "H_ENTER flags=0x8000000000 ptex=0x3ff0 v=0x1f81 r=0xfff012": by name, without arguments that are
// 0.
std::string DescribeCall(const hcall::HcallRequest& request);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_DESCRIBE_H_
