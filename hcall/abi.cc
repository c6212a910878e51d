#include "hcall/abi.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace papr::hcall {
namespace {

struct OpcodeEntry {
  uint64_t opcode;
  std::string_view name;
};
constexpr OpcodeEntry kOpcodeNames[] = {
    {kHRemove, "H_REMOVE"},
    {kHEnter, "H_ENTER"},
    {kHRead, "H_READ"},
    {kHClearMod, "H_CLEAR_MOD"},
    {kHClearRef, "H_CLEAR_REF"},
    {kHProtect, "H_PROTECT"},
    {kHPageInit, "H_PAGE_INIT"},
    {kHBulkRemove, "H_BULK_REMOVE"},
    {kHBlockRemove, "H_BLOCK_REMOVE"},
    {kHClearHpt, "H_CLEAR_HPT"},
    {kHResizeHptPrepare, "H_RESIZE_HPT_PREPARE"},
    {kHResizeHptCommit, "H_RESIZE_HPT_COMMIT"},
    {kHRegisterProcTbl, "H_REGISTER_PROC_TBL"},
    {kHHashRemove, "H_HASH_REMOVE"},
    {kHHashProtect, "H_HASH_PROTECT"},
    {kHHashBulkRemove, "H_HASH_BULK_REMOVE"},
};
static_assert(std::size(kOpcodeNames) == kServedOpcodes.size());

struct ReturnCodeEntry {
  int64_t code;
  std::string_view name;
};
constexpr ReturnCodeEntry kReturnCodeNames[] = {
    {kHSuccess, "H_SUCCESS"},
    {kHBusy, "H_BUSY"},
    {kHClosed, "H_CLOSED"},
    {kHNotAvailable, "H_NOT_AVAILABLE"},
    {kHConstrained, "H_CONSTRAINED"},
    {kHPartial, "H_PARTIAL"},
    {kHInProgress, "H_IN_PROGRESS"},
    {kHPageRegistered, "H_PAGE_REGISTERED"},
    {kHPartialStore, "H_PARTIAL_STORE"},
    {kHPending, "H_PENDING"},
    {kHContinue, "H_CONTINUE"},
    {kHLongBusyOrder1Msec, "H_LONG_BUSY_ORDER_1_MSEC"},
    {kHLongBusyOrder10Msec, "H_LONG_BUSY_ORDER_10_MSEC"},
    {kHLongBusyOrder100Msec, "H_LONG_BUSY_ORDER_100_MSEC"},
    {kHLongBusyOrder1Sec, "H_LONG_BUSY_ORDER_1_SEC"},
    {kHLongBusyOrder10Sec, "H_LONG_BUSY_ORDER_10_SEC"},
    {kHLongBusyOrder100Sec, "H_LONG_BUSY_ORDER_100_SEC"},
    {kHHardware, "H_HARDWARE"},
    {kHFunction, "H_FUNCTION"},
    {kHPrivilege, "H_PRIVILEGE"},
    {kHParameter, "H_PARAMETER"},
    {kHPtegFull, "H_PTEG_FULL"},
    {kHNotFound, "H_NOT_FOUND"},
    {kHNoMem, "H_NO_MEM"},
    {kHAuthority, "H_AUTHORITY"},
    {kHPermission, "H_PERMISSION"},
    {kHResource, "H_RESOURCE"},
    {kHRescinded, "H_RESCINDED"},
    {kHAborted, "H_ABORTED"},
    {kHP2, "H_P2"},
    {kHP3, "H_P3"},
    {kHP4, "H_P4"},
    {kHP5, "H_P5"},
    {kHTooBig, "H_TOO_BIG"},
};

}  // namespace

std::string_view OpcodeName(uint64_t opcode) {
  for (const auto& [number, name] : kOpcodeNames) {
    if (number == opcode) return name;
  }
  return {};
}

std::optional<uint64_t> OpcodeByName(std::string_view name) {
  std::string upper = absl::AsciiStrToUpper(absl::string_view(name.data(), name.size()));
  if (upper.rfind("H_", 0) != 0) upper.insert(0, "H_");
  for (const auto& [number, known] : kOpcodeNames) {
    if (known == upper) return number;
  }
  return std::nullopt;
}

std::string ReturnCodeName(int64_t code) {
  for (const auto& [number, name] : kReturnCodeNames) {
    if (number == code) return std::string(name);
  }
  return absl::StrCat(code);
}

}  // namespace papr::hcall
