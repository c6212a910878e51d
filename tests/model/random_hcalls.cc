#include "tests/model/random_hcalls.h"

namespace papr::model {
namespace {

constexpr uint64_t kExact = 0x8000000000;
constexpr uint64_t kRead4 = 0x2000000000;
constexpr uint64_t kAvpnFlag = 0x80000000;
constexpr uint64_t kAndCond = 0x40000000;

constexpr uint64_t kBlocks = 14;
// Primary groups of all blocks: kWindows runs of 8 groups, chosen by these low bits of the hash.
constexpr uint64_t kWindows = 3;
constexpr uint64_t kWindowBits = 0x1fff;

}  // namespace

RandomHcalls::RandomHcalls(uint64_t seed, const hcall::PartitionConfig& config)
    : rng_(seed),
      memory_(config.memory),
      block_remove_sizes_(config.block_remove_sizes),
      hash_base_(config.hash_opcode_base) {
  opcodes_ = {hcall::kHRemove,
              hcall::kHEnter,
              hcall::kHRead,
              hcall::kHClearMod,
              hcall::kHClearRef,
              hcall::kHProtect,
              hcall::kHPageInit,
              hcall::kHBulkRemove,
              hcall::kHBlockRemove,
              hcall::kHClearHpt,
              hcall::kHResizeHptCommit,
              hcall::kHResizeHptPrepare,
              hash_base_,
              hash_base_ + 4,
              hash_base_ + 8,
              hcall::kHRegisterProcTbl};
  MakeBlocks(config);
}

void RandomHcalls::MakeBlocks(const hcall::PartitionConfig& config) {
  std::vector<uint64_t> windows;
  for (uint64_t i = 0; i < kWindows; ++i) windows.push_back(Below(kWindowBits + 1) & ~uint64_t{15});
  windows[1] = windows[0] ^ 0x1000;  // the same groups in a table of order 19 or less
  const auto& segments = config.page_sizes.segments();
  while (blocks_.size() < kBlocks) {
    // The first segment sizes are the common ones.
    const auto& segment = segments[OneIn(2) ? 0 : Below(segments.size())];
    const auto& encoding = segment.encodings[Below(segment.encodings.size())];
    Block block;
    block.sizes = {segment.base, encoding.actual};
    block.lp = encoding.lp;
    block.first.base_shift = segment.base;
    block.first.segment_shift = OneIn(2) || segment.base > 25 ? 40 : 28;
    const uint64_t pages = uint64_t{1} << (block.first.segment_shift - segment.base);
    const uint64_t page = Below(pages) & ~(2 * kPagesInBlock - 1);
    block.first.offset = page << segment.base;
    // The VSID brings the hash of the first page to the beginning of a window.
    const uint64_t window = windows[Below(windows.size())];
    const int vsid_bits = block.first.segment_shift == 40 ? 38 : 50;
    const uint64_t high = Below(uint64_t{1} << (OneIn(2) ? vsid_bits : 20)) & ~kWindowBits;
    block.first.vsid = high | ((window ^ page) & kWindowBits);
    blocks_.push_back(block);
  }
}

VirtualPage RandomHcalls::PageOf(const Block& block, uint64_t index) {
  VirtualPage page = block.first;
  page.offset += index << page.base_shift;
  return page;
}

uint64_t RandomHcalls::Boundary(const ReferenceModel& state) {
  const uint64_t entries = uint64_t{1} << (state.radix() ? 14 : state.order() - 4);
  const uint64_t bit = uint64_t{1} << Below(64);
  return Pick<uint64_t>({0, 1, 7, entries - 1, entries, entries + 1, entries | (bit & ~entries),
                         ~uint64_t{0}, ~uint64_t{0} - Below(8), bit, bit - 1, ~bit, Below(64)});
}

uint64_t RandomHcalls::RealAddressAndWimg(int actual_shift) {
  const uint64_t page = ~((uint64_t{1} << actual_shift) - 1);
  uint64_t address = SomeBits(kRealPage);
  if (!OneIn(16)) {
    const hcall::MemoryRegion& region = memory_[Below(memory_.size())];
    address = region.base + Below(region.size);
  }
  bool ram = false;
  for (const hcall::MemoryRegion& region : memory_) {
    if ((address & page) - region.base < region.size) {
      ram = region.kind == hcall::MemoryRegion::Kind::kRam;
    }
  }
  uint64_t wimg = ram ? 0x10 : Pick<uint64_t>({0x20, 0x28, 0x30, 0x38});
  if (OneIn(12)) wimg = SomeBits(kWimg);
  return (address & page & kRealPage) | wimg;
}

uint64_t RandomHcalls::RandomR(const Block& block) {
  uint64_t r = RealAddressAndWimg(block.sizes.actual) | (block.lp << 12);
  r |= SomeBits(kReferenced | kChanged | kProtectMask);
  if (block.sizes.actual > 20 && OneIn(8)) r |= SomeBits(0xf00000);  // inside the page: ignored
  if (OneIn(24)) r ^= SomeBits(0xff000);
  if (OneIn(16)) r |= kHypervisorR;
  return r;
}

RandomHcalls::Place RandomHcalls::FindPage(const ReferenceModel& state, const Block& block,
                                           uint64_t index) {
  const VirtualPage page = PageOf(block, index);
  const uint64_t avpn = AvpnOf(page);
  const uint64_t start = Below(kSlots);
  for (const bool secondary : {OneIn(2), OneIn(2)}) {
    const uint64_t first = GroupStart(HashOf(page), secondary, state.group_mask());
    for (uint64_t i = 0; i < kSlots; ++i) {
      const uint64_t ptex = first + (start + i) % kSlots;
      const Entry entry = state.At(ptex);
      if ((entry.v & kPresent) != 0 && (entry.v & ~uint64_t{0x7f}) == avpn) return {ptex, avpn};
    }
  }
  return {GroupStart(HashOf(page), OneIn(4), state.group_mask()) + start, avpn};
}

RandomHcalls::Place RandomHcalls::AnyPlace(const ReferenceModel& state) {
  if (OneIn(24)) return {Boundary(state), rng_()};
  Place place;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Block& block = AnyBlock();
    const VirtualPage page = PageOf(block, Below(kPagesInBlock));
    place.ptex = GroupStart(HashOf(page), OneIn(4), state.group_mask()) + Below(kSlots);
    place.avpn = state.At(place.ptex).v & ~uint64_t{0x7f};
    if (state.Present(place.ptex)) break;
  }
  return place;
}

uint64_t RandomHcalls::AvpnArgument(const Place& place) {
  if (OneIn(12)) return place.avpn ^ (uint64_t{1} << Below(64));
  if (OneIn(48)) return rng_();
  return place.avpn;
}

Step RandomHcalls::Next(const ReferenceModel& state) {
  if (!planned_.empty()) {
    const Step step = planned_.front();
    planned_.pop_front();
    return step;
  }
  if (OneIn(8)) return Wild(state);
  Step step = Structured(state);
  if (auto* request = std::get_if<hcall::HcallRequest>(&step)) {
    if (OneIn(16)) request->registers[Below(hcall::kRegisterCount)] ^= uint64_t{1} << Below(64);
    if (OneIn(64)) request->registers[Below(hcall::kRegisterCount)] = Boundary(state);
    request->problem_state = OneIn(256);
  }
  return step;
}

uint64_t RandomHcalls::WildOpcode() {
  switch (Below(6)) {
    case 0:
      return rng_();
    case 1:
      return Below(0x480);
    case 2:
      return 0xf000 + Below(0x1000);
    case 3:
      return opcodes_[Below(opcodes_.size())] ^ (uint64_t{1} << Below(64));
    default:
      return opcodes_[Below(opcodes_.size())];
  }
}

uint64_t RandomHcalls::WildRegister(const ReferenceModel& state) {
  switch (Below(6)) {
    case 0:
      return Boundary(state);
    case 1:
      return rng_() & rng_() & rng_();
    case 2:
      return state.radix() ? Below(0x4000) : AnyPlace(state).ptex;
    case 3:
      return Pick<uint64_t>({kExact, kRead4, kAvpnFlag, kAndCond, kAvpnFlag | kAndCond});
    default:
      return rng_();
  }
}

Step RandomHcalls::Wild(const ReferenceModel& state) {
  hcall::HcallRequest request;
  request.opcode = WildOpcode();
  // A wild H_CLEAR_HPT would empty the table too often to leave anything to find.
  if (request.opcode == hcall::kHClearHpt && !OneIn(64)) request.opcode = hcall::kHRead;
  const bool all_random = OneIn(2);
  for (uint64_t& value : request.registers) value = all_random ? rng_() : WildRegister(state);
  request.problem_state = OneIn(64);
  return request;
}

Step RandomHcalls::Structured(const ReferenceModel& state) {
  const auto call = [](uint64_t opcode, const Registers& registers) {
    return hcall::HcallRequest{.opcode = opcode, .registers = registers};
  };
  const uint64_t die = Below(1000);
  if (die < 330) return call(hcall::kHEnter, Enter(state));
  if (die < 430) return call(hcall::kHRemove, Remove(state));
  if (die < 520) return call(hcall::kHRead, Read(state));
  if (die < 620) return call(hcall::kHProtect, Protect(state));
  if (die < 660) return call(hcall::kHClearRef, Clear(state));
  if (die < 700) return call(hcall::kHClearMod, Clear(state));
  if (die < 750) return call(hcall::kHBulkRemove, BulkRemove(state));
  if (die < 790) return call(hcall::kHBlockRemove, BlockRemove(state));
  if (die < 820) return call(hash_base_, HashRemove());
  if (die < 850) return call(hash_base_ + 4, HashProtect());
  if (die < 870) return call(hash_base_ + 8, HashBulkRemove());
  if (die < 890) return call(hcall::kHPageInit, PageInit());
  if (die < 900) return call(hcall::kHRegisterProcTbl, {0, 0, 0, OneIn(4), rng_()});
  if (die < 930) return Resize(state);
  if (die == 930 && OneIn(8)) return call(hcall::kHClearHpt, {rng_()});
  if (die < 950) return FillBlock(state);
  return hcall::ReferenceChange{AnyPlace(state).ptex, !OneIn(4), OneIn(2)};
}

}  // namespace papr::model
