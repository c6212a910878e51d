// The typed requests of HcallService as registers, and registers as typed responses: the typed RPCs
// are the register form in other clothes.
//
// ToHcall() gives the hcall that a request stands for; INVALID_ARGUMENT ("specifiers") if it has
// more specifiers than the call has registers. FromResult() fills an empty response. Any thread may
// call these.

#ifndef SERVER_TYPED_HCALLS_H_
#define SERVER_TYPED_HCALLS_H_

#include "absl/status/statusor.h"
#include "hcall/abi.h"
#include "hcall/partition_config.h"
#include "papr/mmu/v1/hcall.pb.h"

namespace papr::server {

using HcallOr = absl::StatusOr<hcall::HcallRequest>;

// `config` says which opcodes the H_HASH_* calls have.
HcallOr ToHcall(const mmu::v1::EnterRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ReadRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::RemoveRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ProtectRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ClearReferenceRequest& request,
                const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ClearModifyRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::BulkRemoveRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::BlockRemoveRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::HashRemoveRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::HashProtectRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::HashBulkRemoveRequest& request,
                const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ResizeHptPrepareRequest& request,
                const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ResizeHptCommitRequest& request,
                const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::PageInitRequest& request, const hcall::PartitionConfig& config);
HcallOr ToHcall(const mmu::v1::ClearHptRequest& request, const hcall::PartitionConfig& config);

void FromResult(const hcall::HcallResult& result, mmu::v1::EnterResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ReadResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::RemoveResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ProtectResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ClearReferenceResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ClearModifyResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::BulkRemoveResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::BlockRemoveResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::HashRemoveResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::HashProtectResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::HashBulkRemoveResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ResizeHptPrepareResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ResizeHptCommitResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::PageInitResponse* response);
void FromResult(const hcall::HcallResult& result, mmu::v1::ClearHptResponse* response);

}  // namespace papr::server

#endif  // SERVER_TYPED_HCALLS_H_
