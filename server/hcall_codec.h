// The register form of hcalls between the wire and the hypervisor. Any thread may call these.

#ifndef SERVER_HCALL_CODEC_H_
#define SERVER_HCALL_CODEC_H_

#include <span>

#include "absl/status/status.h"
#include "hcall/abi.h"
#include "papr/mmu/v1/hcall.pb.h"

namespace papr::server {

// Checks what a unary request carries. INVALID_ARGUMENT: "hcall" is missing, or "hcall.arguments"
// has more than 9.
absl::Status CheckHcall(const mmu::v1::HcallRequest& request);

// Checks a whole batch before any of it runs. RESOURCE_EXHAUSTED: more than `max_hcalls`.
// INVALID_ARGUMENT: "hcalls[i].arguments".
absl::Status CheckBatch(const mmu::v1::HcallBatchRequest& request, uint64_t max_hcalls);

// Requires at most 9 arguments.
void DecodeHcall(const mmu::v1::Hcall& proto, hcall::HcallRequest& request);

// `proto` must be empty.
void EncodeResult(const hcall::HcallResult& result, mmu::v1::HcallResult& proto);

}  // namespace papr::server

#endif  // SERVER_HCALL_CODEC_H_
