#include "tests/linearizability/workload.h"

#include <utility>

#include "hcall/abi.h"
#include "hcall/partition_config.h"
#include "tests/linearizability/pair_model.h"
#include "tests/model/reference_entry.h"

namespace papr::linearizability {
namespace {

using hcall::HcallRequest;

constexpr int kOrder = 18;
constexpr uint64_t kGroupMask = (uint64_t{1} << (kOrder - 7)) - 1;
constexpr uint64_t kGigabyte = uint64_t{1} << 30;
constexpr uint64_t kTestAvpn = 2;     // modifier of a bulk request
constexpr uint64_t kTestAndMask = 1;  // another

HcallRequest Call(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  HcallRequest request{.opcode = opcode};
  std::copy(arguments.begin(), arguments.end(), request.registers.begin());
  return request;
}

uint64_t Specifier(uint64_t control, uint64_t operand) { return (control << 56) | operand; }

}  // namespace

std::unique_ptr<hcall::Partition> MakePartition(hcall::Profile profile) {
  hcall::PartitionConfig config;
  config.profile = profile;
  config.order = kOrder;
  config.memory = {{0, kGigabyte, hcall::MemoryRegion::Kind::kRam}};
  config.features = hcall::Features::Default(profile);
  config.features.hash = true;
  if (config.qemu()) {
    config.page_sizes = mmu::PageSizeTable::QemuDefault();
    config.block_remove_sizes = {};
  }
  return *hcall::Partition::Create(std::move(config));
}

Workload::Workload(uint64_t seed, hcall::Profile profile)
    : random_(seed), qemu_(profile == hcall::Profile::kQemuTcg) {
  threads_ = static_cast<int>(2 + Below(7));
  actions_ = 20 / static_cast<uint64_t>(threads_) + 1 + Below(3);
  hot_slots_ = 1 + Below(4);
  brink_ = OneIn(4);
  // Neighbouring groups: the pages of one block of eight hash to them.
  const uint64_t first = Below(kGroupMask / 2) & ~uint64_t{7};
  const uint64_t pairs = OneIn(3) && !brink_ ? 3 : 1;
  for (uint64_t i = 0; i < pairs; ++i) groups_.push_back(first + i);
  // In every pair two pages of one AVPN, which only a table of this order can bring together, and
  // one of another.
  for (const uint64_t group : groups_) {
    for (const auto& [vsid, primary] :
         {std::pair{uint64_t{0x1000}, group}, {0x1000, ~group & kGroupMask}, {0x2000, group}}) {
      // Page number in the segment whose hash, of 4K pages, ends in the group's number.
      const model::VirtualPage page{
          .segment_shift = 28, .base_shift = 12, .vsid = vsid, .offset = primary << 12};
      pages_.push_back({model::HashOf(page), model::AvpnOf(page)});
    }
  }
}

uint64_t Workload::GroupOf(const Page& page, bool secondary) const {
  return (secondary ? ~page.hash : page.hash) & kGroupMask;
}

std::pair<uint64_t, uint64_t> Workload::Mapping(const Page& page, bool secondary) {
  uint64_t v = page.avpn | model::kPresent | (secondary ? model::kSecondary : 0);
  if (OneIn(6)) v |= model::kBolted;
  if (OneIn(8)) v |= 0x8;                // the other software bit of the guest
  if (OneIn(16)) v |= 0x60;              // bits that are the hypervisor's
  if (OneIn(24)) v &= ~model::kPresent;  // forced on, or with QEMU stored as it is
  uint64_t r = (next_page_++ << 12) | 0x10 | Below(4);
  if (OneIn(3)) r |= model::kReferenced;
  if (OneIn(3)) r |= model::kChanged;
  return {v, r};
}

Workload::Target Workload::AnyTarget() {
  const Page& page = AnyPage();
  const bool secondary = OneIn(3);
  const uint64_t slot = OneIn(4) ? Below(8) : Below(hot_slots_);
  return {page, secondary, GroupOf(page, secondary) * 8 + slot};
}

uint64_t Workload::AvpnFor(const Target& target) {
  return OneIn(16) ? target.page.avpn | 0x80 : target.page.avpn;
}

std::vector<Action> Workload::Setup() {
  std::vector<Action> actions;
  for (const uint64_t pair : groups_) {
    for (const bool secondary : {false, true}) {
      const uint64_t group = secondary ? ~pair & kGroupMask : pair;
      const uint64_t wanted = brink_ ? 7 : OneIn(2) ? 7 + Below(2) : Below(9);
      const uint64_t first = brink_ ? 0 : 8 - wanted;
      for (uint64_t slot = first; slot < first + wanted; ++slot) {
        const Page& page = AnyPage();
        const auto [v, r] = Mapping(page, GroupOf(page, true) == group);
        actions.push_back(
            {.hcalls = {Call(hcall::kHEnter, {hcall::kFlagExact, group * 8 + slot, v, r})}});
      }
    }
  }
  return actions;
}

std::vector<Action> Workload::Readout() const {
  std::vector<Action> actions;
  for (const uint64_t pair : groups_) {
    for (int position = 0; position < kPairEntries; position += 4) {
      const uint64_t ptex = PtexOf({pair, position}, kGroupMask);
      actions.push_back({.hcalls = {Call(hcall::kHRead, {hcall::kFlagRead4, ptex})}});
    }
  }
  return actions;
}

// Slot 0 and slot 7 come and go, so that a look at one slot after another may find none free in a
// group that is never full.
Action Workload::OnTheBrink() {
  const uint64_t group = groups_[0] * 8;
  const uint64_t slot = group + (OneIn(2) ? 0 : 7);
  const auto [v, r] = Mapping(pages_[0], /*secondary=*/false);
  switch (Below(8)) {
    case 0:
    case 1:
      return {.hcalls = {Call(hcall::kHRemove, {0, group})}};
    case 2:
      return {.hcalls = {Call(hcall::kHRemove, {0, slot})}};
    case 3:
      return {.walk = hcall::ReferenceChange{.ptex = group + 7, .referenced = true}};
    case 4:
    case 5:
      return {.hcalls = {Call(hcall::kHEnter, {hcall::kFlagExact, slot, v, r})}};
    default:
      return {.hcalls = {Call(hcall::kHEnter, {0, group, v, r})}};
  }
}

Action Workload::Next() {
  if (brink_) return OnTheBrink();
  Action action;
  if (OneIn(10)) {
    action.walk = {.ptex = AnyTarget().ptex, .referenced = OneIn(2), .changed = OneIn(2)};
    return action;
  }
  const uint64_t hcalls = OneIn(8) ? 2 + Below(2) : 1;
  for (uint64_t i = 0; i < hcalls; ++i) action.hcalls.push_back(AnyHcall());
  return action;
}

HcallRequest Workload::AnyHcall() {
  switch (Below(22)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return Enter();
    case 6:
    case 7:
    case 8:
      return Read();
    case 9:
    case 10:
    case 11:
      return Remove();
    case 12:
    case 13:
      return Protect();
    case 14:
      return BulkRemove();
    case 15:
    case 16:
      return HashRemove();
    case 17:
      return HashProtect();
    case 18:
      return HashBulkRemove();
    case 19:
      return qemu_ ? Enter() : BlockRemove();
    default:
      return qemu_ ? Read() : Clear();
  }
}

HcallRequest Workload::Enter() {
  const Target target = AnyTarget();
  const auto [v, r] = Mapping(target.page, target.secondary);
  const uint64_t flags = OneIn(3) ? hcall::kFlagExact : 0;
  return Call(hcall::kHEnter, {flags, target.ptex, v, r});
}

HcallRequest Workload::Read() {
  const uint64_t flags = OneIn(4) ? hcall::kFlagRead4 : 0;
  return Call(hcall::kHRead, {flags, AnyTarget().ptex});
}

HcallRequest Workload::Remove() {
  const Target target = AnyTarget();
  switch (Below(4)) {
    case 0:
      return Call(hcall::kHRemove, {0, target.ptex, 0});
    case 1:
      return Call(hcall::kHRemove, {hcall::kFlagAndCond, target.ptex, model::kBolted});
    default:
      return Call(hcall::kHRemove, {hcall::kFlagAvpn, target.ptex, AvpnFor(target)});
  }
}

HcallRequest Workload::Protect() {
  const Target target = AnyTarget();
  const uint64_t flags = (OneIn(2) ? hcall::kFlagAvpn : 0) | (random_() & hcall::kProtectFlags);
  return Call(hcall::kHProtect, {flags, target.ptex, AvpnFor(target)});
}

HcallRequest Workload::Clear() {
  return Call(OneIn(2) ? hcall::kHClearRef : hcall::kHClearMod, {0, AnyTarget().ptex});
}

HcallRequest Workload::BulkRemove() {
  HcallRequest request{.opcode = hcall::kHBulkRemove};
  const uint64_t count = 2 + Below(3);
  for (uint64_t i = 0; i < 4; ++i) {
    const Target target = AnyTarget();
    const bool and_mask = OneIn(4);
    request.registers[2 * i] =
        i < count ? Specifier(0x40 | (and_mask ? kTestAndMask : kTestAvpn), target.ptex)
                  : Specifier(0xc0, 0);
    request.registers[2 * i + 1] = and_mask ? model::kBolted : AvpnFor(target);
  }
  return request;
}

HcallRequest Workload::BlockRemove() {
  HcallRequest request{.opcode = hcall::kHBlockRemove};
  request.registers[0] = AnyPage().avpn;
  const uint64_t count = 2 + Below(7);
  for (uint64_t i = 0; i < 8; ++i) {
    request.registers[i + 1] =
        i < count ? Specifier(OneIn(8) ? 0x40 : 0x41, AnyTarget().ptex) : Specifier(0xc0, 0);
  }
  return request;
}

HcallRequest Workload::HashRemove() {
  const Target target = AnyTarget();
  const uint64_t flags = hcall::kFlagAvpn | (OneIn(3) ? hcall::kFlagAndCond : 0);
  return Call(hcall::kHHashRemove, {flags, target.page.hash, AvpnFor(target), model::kBolted});
}

HcallRequest Workload::HashProtect() {
  const Target target = AnyTarget();
  const uint64_t flags = hcall::kFlagAvpn | (random_() & hcall::kProtectFlags);
  return Call(hcall::kHHashProtect, {flags, target.page.hash, AvpnFor(target)});
}

HcallRequest Workload::HashBulkRemove() {
  HcallRequest request{.opcode = hcall::kHHashBulkRemove};
  const uint64_t count = 2 + Below(3);
  for (uint64_t i = 0; i < 4; ++i) {
    const Target target = AnyTarget();
    request.registers[2 * i] =
        i < count ? Specifier(0x40 | kTestAvpn, target.page.hash) : Specifier(0xc0, 0);
    request.registers[2 * i + 1] = AvpnFor(target);
  }
  return request;
}

}  // namespace papr::linearizability
