#include "hcall/dispatch.h"

#include <array>

#include "hcall/dispatcher.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

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
  Dispatcher<kHcalls>::RunOne(partition, request, result);
  return result;
}

size_t DispatchBatch(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                     std::span<HcallResult> results) {
  return Dispatcher<kHcalls>::RunBatch(partition, requests, mode, results);
}

}  // namespace papr::hcall
