#include "hcall/dispatch.h"

#include <algorithm>
#include <array>

#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

struct HcallEntry {
  HcallFunction function;
  bool needs_hpt;  // a radix partition answers H_FUNCTION
  bool exclusive;  // runs alone in its partition
  std::string_view name;
};

// By position as kServedOpcodes.
constexpr HcallEntry kHcalls[] = {
    {Remove, true, false, "h_remove"},
    {Enter, true, false, "h_enter"},
    {Read, true, false, "h_read"},
    {ClearMod, true, false, "h_clear_mod"},
    {ClearRef, true, false, "h_clear_ref"},
    {Protect, true, false, "h_protect"},
    {PageInit, false, false, "h_page_init"},
    {BulkRemove, true, false, "h_bulk_remove"},
    {BlockRemove, true, false, "h_block_remove"},
    {ClearHpt, true, false, "h_clear_hpt"},
    {ResizeHptPrepare, false, false, "h_resize_hpt_prepare"},
    {ResizeHptCommit, false, true, "h_resize_hpt_commit"},
    {RegisterProcTbl, true, false, "h_register_proc_tbl"},
    {HashRemove, true, false, "h_hash_remove"},
    {HashProtect, true, false, "h_hash_protect"},
    {HashBulkRemove, true, false, "h_hash_bulk_remove"},
};
static_assert(std::size(kHcalls) == kServedOpcodes.size());
static_assert(std::size(kHcalls) == kOtherHcall);

constexpr int kHashKinds = 3;  // the last ones

// Kind of opcode 4 * i, for the opcodes below 0x400.
constexpr auto kKindByOpcode = [] {
  std::array<uint8_t, 256> kinds{};
  kinds.fill(kOtherHcall);
  for (size_t kind = 0; kind < kServedOpcodes.size(); ++kind) {
    if (kServedOpcodes[kind] / 4 < kinds.size()) {
      kinds[kServedOpcodes[kind] / 4] = static_cast<uint8_t>(kind);
    }
  }
  return kinds;
}();

// Hcalls of a batch under one guard: long enough that its cost vanishes, short enough (some 25 us)
// that a resize commit need not wait long.
constexpr size_t kGuardedRun = 256;

// Requires the guard that the hcall needs.
void Run(Partition& partition, int kind, const HcallRequest& request, HcallResult& result) {
  result.registers = request.registers;
  result.output_count = 0;
  if (request.problem_state) {
    result.return_code = kHPrivilege;
    return;
  }
  if (kind == kOtherHcall || !partition.Enabled(kind) ||
      (kHcalls[kind].needs_hpt && partition.config().mmu == MmuKind::kRadix)) {
    result.return_code = kHFunction;
    return;
  }
  const Outcome outcome = kHcalls[kind].function(partition, result.registers);
  result.return_code = outcome.return_code;
  result.output_count = outcome.output_count;
}

bool IsExclusive(int kind) { return kind != kOtherHcall && kHcalls[kind].exclusive; }

}  // namespace

int HcallKind(const Partition& partition, uint64_t opcode) {
  if (opcode % 4 != 0) return kOtherHcall;
  if (opcode / 4 < kKindByOpcode.size()) return kKindByOpcode[opcode / 4];
  const uint64_t hash_call = (opcode - partition.config().hash_opcode_base) / 4;
  return hash_call < kHashKinds ? kOtherHcall - kHashKinds + static_cast<int>(hash_call)
                                : kOtherHcall;
}

std::string_view HcallKindName(int kind) {
  return kind >= 0 && kind < kOtherHcall ? kHcalls[kind].name : "other";
}

HcallResult Dispatch(Partition& partition, const HcallRequest& request) {
  HcallResult result;
  DispatchBatch(partition, {&request, 1}, BatchMode::kAll, {&result, 1});
  return result;
}

size_t DispatchBatch(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                     std::span<HcallResult> results) {
  size_t i = 0;
  while (i < requests.size()) {
    if (IsExclusive(HcallKind(partition, requests[i].opcode))) {
      const Quiescence::Exclusive guard(partition.quiescence());
      Run(partition, HcallKind(partition, requests[i].opcode), requests[i], results[i]);
      ++i;
    } else {
      const Quiescence::Shared guard(partition.quiescence());
      const size_t end = std::min(requests.size(), i + kGuardedRun);
      for (; i < end; ++i) {
        const int kind = HcallKind(partition, requests[i].opcode);
        if (IsExclusive(kind)) break;
        Run(partition, kind, requests[i], results[i]);
        if (mode == BatchMode::kStopAtFirstError && results[i].return_code != kHSuccess) {
          return i + 1;
        }
      }
      continue;
    }
    if (mode == BatchMode::kStopAtFirstError && results[i - 1].return_code != kHSuccess) return i;
  }
  return i;
}

}  // namespace papr::hcall
