#include "tests/conformance/qemu/differential_step.h"

#include <algorithm>
#include <array>
#include <optional>

#include "mmu/hpte.h"
#include "tests/conformance/qemu/guest_layout.h"
#include "tests/model/reference_entry.h"

namespace papr::conformance {
namespace {

using hcall::HcallRequest;
using model::Entry;
using model::ReferenceModel;

// QEMU refuses the second half, and so must hptd in profile qemu-tcg.
constexpr std::array<uint64_t, 15> kComparedOpcodes = {
    hcall::kHEnter,      hcall::kHRemove,          hcall::kHRead,
    hcall::kHProtect,    hcall::kHBulkRemove,      hcall::kHResizeHptPrepare,
    hcall::kHPageInit,   hcall::kHResizeHptCommit, hcall::kHClearMod,
    hcall::kHClearRef,   hcall::kHBlockRemove,     hcall::kHClearHpt,
    hcall::kHHashRemove, hcall::kHHashProtect,     hcall::kHHashBulkRemove};

// Numbers with which QEMU may have something to do that is not about the page table: PAPR's, those
// of secure machines, and its own.
bool MayServe(uint64_t opcode) {
  constexpr uint64_t kLastPapr = 0x4ff;
  constexpr uint64_t kFirstSecure = 0xef00;
  constexpr uint64_t kLastOwn = 0xf8ff;
  if (opcode <= kLastPapr) return opcode % 4 == 0;
  return opcode >= kFirstSecure && opcode <= kLastOwn;
}

bool IsComparedOpcode(uint64_t opcode) {
  return std::find(kComparedOpcodes.begin(), kComparedOpcodes.end(), opcode) !=
             kComparedOpcodes.end() ||
         !MayServe(opcode);
}

bool WritesGuestProgram(const HcallRequest& request) {
  return request.registers[1] >= GUEST_BASE && request.registers[1] < GUEST_END;
}

bool InPlace(const Entry& entry, uint64_t ptex, int base_shift, uint64_t group_mask) {
  const model::VirtualPage page =
      model::RecoverPage(entry.v, base_shift, ptex, model::RecoverableBits(base_shift));
  const bool secondary = (entry.v & model::kSecondary) != 0;
  return model::GroupStart(model::HashOf(page), secondary, group_mask) == (ptex & ~uint64_t{7});
}

bool EndsQemu(const hcall::PartitionConfig& config, const ReferenceModel& state, uint64_t ptex) {
  const Entry entry = state.At(ptex);
  if ((entry.v & model::kPresent) == 0 || (entry.v & model::kBolted) == 0) return false;
  if ((entry.v & model::kSegmentSizeReserved) != 0) return false;  // H_HARDWARE
  if ((entry.v & model::kSecondary) != 0) return true;
  const auto sizes = model::DecodePageSizes(config.page_sizes, entry.v, entry.r);
  return !sizes.has_value() || sizes->base != sizes->actual ||
         !InPlace(entry, ptex, sizes->base, state.group_mask());
}

bool IsComparable(const hcall::PartitionConfig& config, const ReferenceModel& state,
                  const HcallRequest& request) {
  if (request.problem_state || !IsComparedOpcode(request.opcode)) return false;
  if (request.opcode == hcall::kHPageInit) return !WritesGuestProgram(request);
  if (request.opcode == hcall::kHResizeHptCommit) {
    return state.pending_order() != static_cast<int>(request.registers[1]) ||
           EntriesThatEndQemu(config, state).empty();
  }
  return true;
}

// Whether a walk for the address of the entry at `ptex` may find another first: it looks for
// entries without H in the primary group and then for those with H in the secondary one, from slot
// 0 on.
bool HasTwinBefore(const ReferenceModel& state, uint64_t ptex, const Entry& entry) {
  constexpr uint64_t kAddress = ~uint64_t{0x7f};
  const auto is_twin = [&](uint64_t other, uint64_t secondary) {
    const uint64_t v = state.At(other).v;
    return (v & model::kPresent) != 0 && (v & model::kSecondary) == secondary &&
           ((v ^ entry.v) & kAddress) == 0;
  };
  const uint64_t secondary = entry.v & model::kSecondary;
  const uint64_t group = ptex & ~uint64_t{7};
  for (uint64_t other = group; other < ptex; ++other) {
    if (is_twin(other, secondary)) return true;
  }
  if (secondary == 0) return false;
  const uint64_t primary = (~(ptex / model::kSlots) & state.group_mask()) * model::kSlots;
  for (uint64_t other = primary; other < primary + model::kSlots; ++other) {
    if (is_twin(other, 0)) return true;
  }
  return false;
}

// Whether a privileged access with key 0 in the segment and no key denied may be made.
bool Permitted(uint64_t r, bool store) {
  switch (mmu::PageProtection(r)) {
    case 0:
    case 1:
    case 2:
      return true;
    case 3:
    case 6:
      return !store;
    default:
      return false;
  }
}

bool IsRam(const hcall::PartitionConfig& config, uint64_t address) {
  return std::any_of(config.memory.begin(), config.memory.end(), [&](const auto& region) {
    return region.kind == hcall::MemoryRegion::Kind::kRam && address - region.base < region.size;
  });
}

bool IsComparable(const hcall::PartitionConfig& config, const ReferenceModel& state,
                  const hcall::ReferenceChange& update) {
  if (update.ptex >= state.entry_count() || !state.Present(update.ptex)) return false;
  const Entry entry = state.At(update.ptex);
  if (!update.referenced && (!update.changed || (entry.r & model::kReferenced) == 0)) return false;
  const auto sizes = model::DecodePageSizes(config.page_sizes, entry.v, entry.r);
  if (!sizes.has_value() || (entry.v & model::kSegmentSizeReserved) != 0) return false;
  return InPlace(entry, update.ptex, sizes->base, state.group_mask()) &&
         !HasTwinBefore(state, update.ptex, entry) && Permitted(entry.r, update.changed) &&
         IsRam(config, entry.r & model::kRealPage);
}

}  // namespace

std::vector<uint64_t> EntriesThatEndQemu(const hcall::PartitionConfig& config,
                                         const ReferenceModel& state) {
  std::vector<uint64_t> entries;
  for (uint64_t ptex = 0; ptex < state.entry_count(); ++ptex) {
    if (EndsQemu(config, state, ptex)) entries.push_back(ptex);
  }
  return entries;
}

bool IsComparable(const hcall::PartitionConfig& config, const ReferenceModel& state,
                  const DifferentialStep& step) {
  return std::visit([&](const auto& one) { return IsComparable(config, state, one); }, step);
}

}  // namespace papr::conformance
