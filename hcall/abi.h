// The PAPR hcall ABI: opcodes, flags, return codes and their names. The single place that knows the
// numbers. Constants and pure functions; any thread may use them.
//
// Sources: LoPAR "Hypervisor Call Function Table", "Hypervisor Call Return Code Table", "Page Frame
// Table Access flags field definition". The H_HASH_* calls are this project's own numbers for calls
// that were proposed for Linux in 2017 and never merged.

#ifndef HCALL_ABI_H_
#define HCALL_ABI_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace papr::hcall {

enum Opcode : uint64_t {
  kHRemove = 0x04,
  kHEnter = 0x08,
  kHRead = 0x0c,
  kHClearMod = 0x10,
  kHClearRef = 0x14,
  kHProtect = 0x18,
  kHPageInit = 0x2c,
  kHBulkRemove = 0x124,
  kHBlockRemove = 0x328,
  kHClearHpt = 0x358,
  kHResizeHptPrepare = 0x36c,
  kHResizeHptCommit = 0x370,
  kHRegisterProcTbl = 0x37c,
  kHHashRemove = 0xf900,
  kHHashProtect = 0xf904,
  kHHashBulkRemove = 0xf908,
};

enum ReturnCode : int64_t {
  kHSuccess = 0,
  kHBusy = 1,
  kHClosed = 2,
  kHNotAvailable = 3,
  kHConstrained = 4,
  kHPartial = 5,
  kHInProgress = 14,
  kHPageRegistered = 15,
  kHPartialStore = 16,
  kHPending = 17,
  kHContinue = 18,
  kHLongBusyOrder1Msec = 9900,
  kHLongBusyOrder10Msec = 9901,
  kHLongBusyOrder100Msec = 9902,
  kHLongBusyOrder1Sec = 9903,
  kHLongBusyOrder10Sec = 9904,
  kHLongBusyOrder100Sec = 9905,
  kHHardware = -1,
  kHFunction = -2,
  kHPrivilege = -3,
  kHParameter = -4,
  kHPtegFull = -6,
  kHNotFound = -7,
  kHNoMem = -9,
  kHAuthority = -10,
  kHPermission = -11,
  kHResource = -16,
  kHRescinded = -46,
  kHAborted = -54,
  kHP2 = -55,
  kHP3 = -56,
  kHP4 = -57,
  kHP5 = -58,
  kHTooBig = -64,
};

// Flags word, R4 of the page frame table calls.
inline constexpr uint64_t kFlagExact = 0x8000000000;   // IBM 24: H_ENTER
inline constexpr uint64_t kFlagRXlate = 0x4000000000;  // IBM 25: H_READ
inline constexpr uint64_t kFlagRead4 = 0x2000000000;   // IBM 26: H_READ
inline constexpr uint64_t kFlagCmo =
    0x0000000f00000000;                               // IBM 28-31: page state, accepted and ignored
inline constexpr uint64_t kFlagAvpn = 0x80000000;     // IBM 32: H_REMOVE, H_PROTECT
inline constexpr uint64_t kFlagAndCond = 0x40000000;  // IBM 33: H_REMOVE
inline constexpr uint64_t kFlagICacheInvalidate = 0x800000;   // IBM 40: H_ENTER, H_PAGE_INIT
inline constexpr uint64_t kFlagICacheSynchronize = 0x400000;  // IBM 41
inline constexpr uint64_t kFlagCoalesce = 0x200000;           // IBM 42: H_ENTER, ignored
inline constexpr uint64_t kFlagMui = 0x1e0000;                // IBM 43-46: H_ENTER, ignored
inline constexpr uint64_t kFlagZeroPage = 0x8000;             // IBM 48: H_ENTER, H_PAGE_INIT
inline constexpr uint64_t kFlagCopyPage = 0x4000;             // IBM 49: H_PAGE_INIT
inline constexpr uint64_t kFlagKeyHigh = 0x3000;              // IBM 50-51: to R bits 61..60
inline constexpr uint64_t kFlagKeyLow = 0x0e00;               // IBM 52-54: same place in R
inline constexpr uint64_t kFlagPp0 = 0x100;                   // IBM 55: to R bit 63
inline constexpr uint64_t kFlagNoExecute = 0x4;               // IBM 61
inline constexpr uint64_t kFlagPp = 0x3;                      // IBM 62-63
// Everything that H_PROTECT puts into R.
inline constexpr uint64_t kProtectFlags =
    kFlagKeyHigh | kFlagKeyLow | kFlagPp0 | kFlagNoExecute | kFlagPp;
inline constexpr uint64_t kFlagCompression = 0xc0;  // IBM 56-57: PFO, ENTER and REMOVE, ignored
inline constexpr uint64_t kFlagCookie = 0xffff000000000000;  // IBM 0-15: NUMA cookie, ignored

// The calls that exist here, in the order in which counters list them; H_HASH_* by their default
// numbers.
inline constexpr std::array<Opcode, 16> kServedOpcodes = {kHRemove,
                                                          kHEnter,
                                                          kHRead,
                                                          kHClearMod,
                                                          kHClearRef,
                                                          kHProtect,
                                                          kHPageInit,
                                                          kHBulkRemove,
                                                          kHBlockRemove,
                                                          kHClearHpt,
                                                          kHResizeHptPrepare,
                                                          kHResizeHptCommit,
                                                          kHRegisterProcTbl,
                                                          kHHashRemove,
                                                          kHHashProtect,
                                                          kHHashBulkRemove};

// "H_ENTER" for 0x08; "H_HASH_REMOVE" for 0xf900; empty for an opcode that has no name here.
std::string_view OpcodeName(uint64_t opcode);
// Accepts "H_ENTER", "h_enter", "enter". Nothing if there is no such call.
std::optional<uint64_t> OpcodeByName(std::string_view name);

// "H_SUCCESS" for 0; the number in decimal for a code without a name.
std::string ReturnCodeName(int64_t code);

// True for 9900..9905.
constexpr bool IsLongBusy(int64_t code) {
  return code >= kHLongBusyOrder1Msec && code <= kHLongBusyOrder100Sec;
}

// R4..R12 of a call: arguments in, outputs out, by position (registers[0] is R4).
inline constexpr int kRegisterCount = 9;
using Registers = std::array<uint64_t, kRegisterCount>;

// One hypercall as the guest makes it.
struct HcallRequest {
  uint64_t opcode = 0;
  Registers registers{};
  bool problem_state = false;  // MSR.PR of the caller
};

// What comes back. The first `output_count` registers are outputs that the call defines; the rest
// keep their argument value.
struct HcallResult {
  int64_t return_code = kHSuccess;
  int output_count = 0;
  Registers registers{};
};

// How a list of hcalls runs.
enum class BatchMode : uint8_t {
  kAll,               // run every hcall whatever the others return
  kStopAtFirstError,  // stop after the first that does not return H_SUCCESS
};

}  // namespace papr::hcall

#endif  // HCALL_ABI_H_
