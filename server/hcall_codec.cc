#include "server/hcall_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/errors.h"

namespace papr::server {
namespace {

absl::Status TooManyArguments(absl::string_view field, int count) {
  return FieldError(
      field, absl::StrCat(count, " of them; at most ", hcall::kRegisterCount, ", R4 to R12"));
}

}  // namespace

absl::Status CheckHcall(const mmu::v1::HcallRequest& request) {
  if (!request.has_hcall()) return FieldError("hcall", "is required");
  const int count = request.hcall().arguments_size();
  return count <= hcall::kRegisterCount ? absl::OkStatus()
                                        : TooManyArguments("hcall.arguments", count);
}

absl::Status CheckBatch(const mmu::v1::HcallBatchRequest& request, uint64_t max_hcalls) {
  if (static_cast<uint64_t>(request.hcalls_size()) > max_hcalls) {
    return LimitError("max_batch_hcalls", max_hcalls,
                      absl::StrCat("hcalls: ", request.hcalls_size(), " of them"));
  }
  for (int i = 0; i < request.hcalls_size(); ++i) {
    const int count = request.hcalls(i).arguments_size();
    if (count > hcall::kRegisterCount) {
      return TooManyArguments(absl::StrCat("hcalls[", i, "].arguments"), count);
    }
  }
  return absl::OkStatus();
}

void DecodeHcall(const mmu::v1::Hcall& proto, hcall::HcallRequest& request) {
  request.opcode = proto.opcode();
  request.problem_state = proto.problem_state();
  const auto end =
      std::copy(proto.arguments().begin(), proto.arguments().end(), request.registers.begin());
  std::fill(end, request.registers.end(), 0);
}

void EncodeResult(const hcall::HcallResult& result, mmu::v1::HcallResult& proto) {
  proto.set_return_code(result.return_code);
  const uint64_t* outputs = result.registers.data();
  proto.mutable_outputs()->Add(outputs, outputs + result.output_count);
}

}  // namespace papr::server
