#include "server/typed_hcalls.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "server/errors.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;
using hcall::HcallRequest;
using hcall::HcallResult;
using hcall::PartitionConfig;

// Specifiers that fit in R4 to R11 as pairs, and in R5 to R12 one by one.
constexpr int kBulkSpecifiers = 4;
constexpr int kBlockSpecifiers = 8;

HcallRequest Call(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  HcallRequest call;
  call.opcode = opcode;
  std::copy(arguments.begin(), arguments.end(), call.registers.begin());
  return call;
}

uint64_t HashOpcode(const PartitionConfig& config, uint64_t canonical) {
  return config.hash_opcode_base + (canonical - hcall::kHHashRemove);
}

absl::Status TooMany(int count, int most) {
  return FieldError("specifiers", absl::StrCat(count, " of them; at most ", most));
}

template <typename Request>
HcallOr BulkCall(uint64_t opcode, const Request& request) {
  const int count = request.specifiers_size();
  if (count > kBulkSpecifiers) return TooMany(count, kBulkSpecifiers);
  HcallRequest call;
  call.opcode = opcode;
  auto out = call.registers.begin();
  for (const v1::BulkSpecifier& specifier : request.specifiers()) {
    *out++ = specifier.high();
    *out++ = specifier.low();
  }
  return call;
}

template <typename Response>
void BulkResult(const HcallResult& result, Response* response) {
  response->set_return_code(result.return_code);
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    v1::BulkSpecifier* specifier = response->add_specifiers();
    specifier->set_high(result.registers[2 * i]);
    specifier->set_low(result.registers[2 * i + 1]);
  }
}

template <typename Response>
void RemovedEntry(const HcallResult& result, Response* response) {
  response->set_return_code(result.return_code);
  if (result.output_count < 2) return;
  response->mutable_hpte()->set_v(result.registers[0]);
  response->mutable_hpte()->set_r(result.registers[1]);
}

template <typename Response>
void WordBefore(const HcallResult& result, Response* response) {
  response->set_return_code(result.return_code);
  if (result.output_count > 0) response->set_r(result.registers[0]);
}

}  // namespace

HcallOr ToHcall(const v1::EnterRequest& request, const PartitionConfig&) {
  return Call(hcall::kHEnter,
              {request.flags(), request.ptex(), request.hpte().v(), request.hpte().r()});
}
HcallOr ToHcall(const v1::ReadRequest& request, const PartitionConfig&) {
  return Call(hcall::kHRead, {request.flags(), request.ptex()});
}
HcallOr ToHcall(const v1::RemoveRequest& request, const PartitionConfig&) {
  return Call(hcall::kHRemove, {request.flags(), request.ptex(), request.avpn()});
}
HcallOr ToHcall(const v1::ProtectRequest& request, const PartitionConfig&) {
  return Call(hcall::kHProtect, {request.flags(), request.ptex(), request.avpn()});
}
HcallOr ToHcall(const v1::ClearReferenceRequest& request, const PartitionConfig&) {
  return Call(hcall::kHClearRef, {request.flags(), request.ptex()});
}
HcallOr ToHcall(const v1::ClearModifyRequest& request, const PartitionConfig&) {
  return Call(hcall::kHClearMod, {request.flags(), request.ptex()});
}
HcallOr ToHcall(const v1::BulkRemoveRequest& request, const PartitionConfig&) {
  return BulkCall(hcall::kHBulkRemove, request);
}
HcallOr ToHcall(const v1::BlockRemoveRequest& request, const PartitionConfig&) {
  const int count = request.specifiers_size();
  if (count > kBlockSpecifiers) return TooMany(count, kBlockSpecifiers);
  HcallRequest call = Call(hcall::kHBlockRemove, {request.avpn()});
  std::copy(request.specifiers().begin(), request.specifiers().end(), call.registers.begin() + 1);
  return call;
}
HcallOr ToHcall(const v1::HashRemoveRequest& request, const PartitionConfig& config) {
  return Call(HashOpcode(config, hcall::kHHashRemove),
              {request.flags(), request.hash(), request.avpn(), request.and_mask()});
}
HcallOr ToHcall(const v1::HashProtectRequest& request, const PartitionConfig& config) {
  return Call(HashOpcode(config, hcall::kHHashProtect),
              {request.flags(), request.hash(), request.avpn()});
}
HcallOr ToHcall(const v1::HashBulkRemoveRequest& request, const PartitionConfig& config) {
  return BulkCall(HashOpcode(config, hcall::kHHashBulkRemove), request);
}
HcallOr ToHcall(const v1::ResizeHptPrepareRequest& request, const PartitionConfig&) {
  return Call(hcall::kHResizeHptPrepare, {request.flags(), request.shift()});
}
HcallOr ToHcall(const v1::ResizeHptCommitRequest& request, const PartitionConfig&) {
  return Call(hcall::kHResizeHptCommit, {request.flags(), request.shift()});
}
HcallOr ToHcall(const v1::PageInitRequest& request, const PartitionConfig&) {
  return Call(hcall::kHPageInit, {request.flags(), request.destination(), request.source()});
}
HcallOr ToHcall(const v1::ClearHptRequest&, const PartitionConfig&) {
  return Call(hcall::kHClearHpt, {});
}

void FromResult(const HcallResult& result, v1::EnterResponse* response) {
  response->set_return_code(result.return_code);
  if (result.output_count > 0) response->set_ptex(result.registers[0]);
}
void FromResult(const HcallResult& result, v1::ReadResponse* response) {
  response->set_return_code(result.return_code);
  for (int i = 0; i + 1 < result.output_count; i += 2) {
    v1::Hpte* hpte = response->add_hptes();
    hpte->set_v(result.registers[i]);
    hpte->set_r(result.registers[i + 1]);
  }
}
void FromResult(const HcallResult& result, v1::RemoveResponse* response) {
  RemovedEntry(result, response);
}
void FromResult(const HcallResult& result, v1::ProtectResponse* response) {
  response->set_return_code(result.return_code);
}
void FromResult(const HcallResult& result, v1::ClearReferenceResponse* response) {
  WordBefore(result, response);
}
void FromResult(const HcallResult& result, v1::ClearModifyResponse* response) {
  WordBefore(result, response);
}
void FromResult(const HcallResult& result, v1::BulkRemoveResponse* response) {
  BulkResult(result, response);
}
void FromResult(const HcallResult& result, v1::BlockRemoveResponse* response) {
  response->set_return_code(result.return_code);
  // The call answers one register below where it was asked. If it answered nothing, what was asked
  // still stands.
  const int first = result.output_count > 0 ? 0 : 1;
  for (int i = 0; i < kBlockSpecifiers; ++i) {
    response->add_specifiers(result.registers[first + i]);
  }
}
void FromResult(const HcallResult& result, v1::HashRemoveResponse* response) {
  RemovedEntry(result, response);
}
void FromResult(const HcallResult& result, v1::HashProtectResponse* response) {
  response->set_return_code(result.return_code);
}
void FromResult(const HcallResult& result, v1::HashBulkRemoveResponse* response) {
  BulkResult(result, response);
}
void FromResult(const HcallResult& result, v1::ResizeHptPrepareResponse* response) {
  response->set_return_code(result.return_code);
}
void FromResult(const HcallResult& result, v1::ResizeHptCommitResponse* response) {
  response->set_return_code(result.return_code);
}
void FromResult(const HcallResult& result, v1::PageInitResponse* response) {
  response->set_return_code(result.return_code);
}
void FromResult(const HcallResult& result, v1::ClearHptResponse* response) {
  response->set_return_code(result.return_code);
}

}  // namespace papr::server
