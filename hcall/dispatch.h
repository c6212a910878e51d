// Opcode and registers in, return code and registers out: every hcall enters the hypervisor here.
//
// Threads: any number at once, on one partition or many. An hcall is atomic per HPTE; see
// hcall/README.md for what that means for each call. No call allocates, formats or takes a lock of
// the whole table, but for the resize calls, H_CLEAR_HPT and tables that grow.

#ifndef HCALL_DISPATCH_H_
#define HCALL_DISPATCH_H_

#include <cstddef>
#include <span>

#include "hcall/abi.h"
#include "hcall/partition.h"

namespace papr::hcall {

// Runs one hcall. Any opcode and any register values are legal.
HcallResult Dispatch(Partition& partition, const HcallRequest& request);

// Runs `requests` in order and stores result i in results[i]; results must be at least as long.
// Returns how many ran.
size_t DispatchBatch(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                     std::span<HcallResult> results);

// Index of a served call in 0..kHcallKinds-1, for counters; kOtherHcall for every other opcode. The
// opcode is as the guest gives it.
inline constexpr int kHcallKinds = 17;
inline constexpr int kOtherHcall = kHcallKinds - 1;
int HcallKind(const Partition& partition, uint64_t opcode);
// "h_enter"; "other" for kOtherHcall.
std::string_view HcallKindName(int kind);

}  // namespace papr::hcall

#endif  // HCALL_DISPATCH_H_
