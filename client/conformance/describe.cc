#include "client/conformance/describe.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/conformance/argument_names.h"
#include "mmu/hpte.h"

namespace papr::conformance {
namespace {

// Response of H_BULK_REMOVE, H_HASH_BULK_REMOVE (TSH) or H_BLOCK_REMOVE (TS): the top byte.
std::string DescribeResponse(uint64_t value, bool block) {
  const char* const types[] = {"unused", "request", "response", "end"};
  const uint64_t type = value >> 62;
  const uint64_t code = block ? (value >> 59) & 7 : (value >> 60) & 3;
  std::string text = absl::StrFormat("0x%x (%s", value, types[type]);
  if (type == 2) absl::StrAppendFormat(&text, " code %d", code);
  if ((value & (block ? uint64_t{1} << 58 : uint64_t{1} << 59)) != 0) text += " R";
  if ((value & (block ? uint64_t{1} << 57 : uint64_t{1} << 58)) != 0) text += " C";
  return text + ")";
}

}  // namespace

std::string DescribeReturnCode(int64_t code) {
  return absl::StrCat(hcall::ReturnCodeName(code), " (", code, ")");
}

std::string DescribeCall(const hcall::HcallRequest& request) {
  const std::string_view name = hcall::OpcodeName(request.opcode);
  std::string text = request.problem_state ? "problem-state " : "";
  if (name.empty()) {
    absl::StrAppendFormat(&text, "0x%x", request.opcode);
  } else {
    text.append(name);
  }
  const std::vector<std::string> names = ArgumentNames(request.opcode);
  for (size_t i = 0; i < request.registers.size(); ++i) {
    if (request.registers[i] == 0) continue;
    absl::StrAppendFormat(&text, " %s=0x%x", i < names.size() ? names[i] : absl::StrCat("r", i + 4),
                          request.registers[i]);
  }
  return text;
}

std::string DescribeV(uint64_t v) {
  const char* const segments[] = {"256M", "1T", "B=2", "B=3"};
  std::string text = absl::StrFormat("0x%x (%s avpn 0x%x", v, segments[v >> 62], v & mmu::kVAvpn);
  if ((v & mmu::kVSoftwareDirty) != 0) text += " 0x40";
  if ((v & 0x20) != 0) text += " 0x20";
  if ((v & mmu::kVBolted) != 0) text += " bolted";
  if ((v & mmu::kVLarge) != 0) text += " large";
  if ((v & mmu::kVSecondary) != 0) text += " secondary";
  return text + ((v & mmu::kVValid) != 0 ? " valid)" : " not valid)");
}

std::string DescribeR(uint64_t r) {
  std::string text = absl::StrFormat("0x%x (rpn 0x%x pp %d key %d wimg %d", r, r & mmu::kRRpn,
                                     mmu::PageProtection(r), mmu::StorageKey(r),
                                     (r & mmu::kRWimg) >> mmu::kRWimgShift);
  if ((r & mmu::kRHypervisor) != 0) text += " bit62";
  if ((r & mmu::kRNoExecute) != 0) text += " N";
  if ((r & mmu::kRReferenced) != 0) text += " R";
  if ((r & mmu::kRChanged) != 0) text += " C";
  return text + ")";
}

std::string DescribeOutput(const hcall::HcallRequest& request, int index, uint64_t value) {
  switch (request.opcode) {
    case hcall::kHRead:
      if (index < 8) return index % 2 == 0 ? DescribeV(value) : DescribeR(value);
      break;
    case hcall::kHRemove:
    case hcall::kHHashRemove:
      if (index == 0) return DescribeV(value);
      if (index == 1) return DescribeR(value);
      break;
    case hcall::kHClearMod:
    case hcall::kHClearRef:
      if (index == 0) return DescribeR(value);
      break;
    case hcall::kHBulkRemove:
    case hcall::kHHashBulkRemove:
      if (index < 8 && index % 2 == 0) return DescribeResponse(value, false);
      break;
    case hcall::kHBlockRemove:
      if (index < 8) return DescribeResponse(value, true);
      break;
    default:
      break;
  }
  return absl::StrFormat("0x%x", value);
}

}  // namespace papr::conformance
