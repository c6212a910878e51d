#include "hcall/dispatch.h"

#include <array>

#include "hcall/dispatcher.h"
#include "hcall/hcall_table.h"
#include "hcall/prefetch.h"

namespace papr::hcall {
namespace {

// By position as kServedOpcodes.
constexpr HcallEntry kHcalls[] = {
    {.function = Remove, .name = "h_remove", .loop = RemoveLoop, .prefetch = PrefetchRemoval},
    {.function = Enter, .name = "h_enter", .loop = EnterLoop, .prefetch = PrefetchEnter},
    {.function = Read, .name = "h_read", .loop = ReadLoop, .prefetch = PrefetchEntry},
    {.function = ClearMod, .name = "h_clear_mod", .prefetch = PrefetchEntry},
    {.function = ClearRef, .name = "h_clear_ref", .prefetch = PrefetchEntry},
    {.function = Protect, .name = "h_protect", .loop = ProtectLoop, .prefetch = PrefetchEntry},
    {.function = PageInit, .name = "h_page_init"},
    {.function = BulkRemove,
     .name = "h_bulk_remove",
     .loop = BulkRemoveLoop,
     .prefetch = PrefetchBulk},
    {.function = BlockRemove, .name = "h_block_remove"},
    {.function = ClearHpt, .name = "h_clear_hpt"},
    {.function = ResizeHptPrepare, .name = "h_resize_hpt_prepare"},
    {.function = ResizeHptCommit, .name = "h_resize_hpt_commit", .exclusive = true},
    {.function = RegisterProcTbl, .name = "h_register_proc_tbl"},
    {.function = HashRemove,
     .name = "h_hash_remove",
     .loop = HashRemoveLoop,
     .prefetch = PrefetchHashRemoval},
    {.function = HashProtect,
     .name = "h_hash_protect",
     .loop = HashProtectLoop,
     .prefetch = PrefetchHash},
    {.function = HashBulkRemove,
     .name = "h_hash_bulk_remove",
     .loop = HashBulkRemoveLoop,
     .prefetch = PrefetchHashBulk},
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
  return Dispatcher<kHcalls>::RunOne(partition, request);
}

size_t DispatchBatch(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                     std::span<HcallResult> results) {
  return Dispatcher<kHcalls>::RunBatch(partition, requests, mode, results);
}

}  // namespace papr::hcall
