#include "tests/model/random_hcalls.h"

#include <algorithm>

namespace papr::model {
namespace {

constexpr uint64_t kExact = 0x8000000000;
constexpr uint64_t kRead4 = 0x2000000000;
constexpr uint64_t kAvpnFlag = 0x80000000;
constexpr uint64_t kAndCond = 0x40000000;
constexpr uint64_t kPageFlags = 0xc08000;  // zero page, I-cache
constexpr uint64_t kIgnoredFlags = 0xffff000f003e00c0;

constexpr uint64_t kPagesInBlock = 8;
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
  for (uint64_t i = 0; i < kWindows; ++i) windows.push_back(Below(kWindowBits + 1) & ~uint64_t{7});
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
    const uint64_t page = Below(pages) & ~(kPagesInBlock - 1);
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

hcall::Registers RandomHcalls::Enter(const ReferenceModel& state) {
  const Block& block = AnyBlock();
  const VirtualPage page = PageOf(block, Below(kPagesInBlock));
  const bool secondary = OneIn(5);
  uint64_t v = AvpnOf(page) | kPresent;
  if (block.sizes.actual > 12) v |= kLarge;
  if (secondary != OneIn(32)) v |= kSecondary;
  if (OneIn(8)) v |= kBolted;
  if (OneIn(8)) v |= SomeBits(kHypervisorBits | 0x8);
  if (OneIn(16)) v ^= kPresent;
  if (OneIn(32)) v |= kSegmentSizeReserved;
  uint64_t flags = OneIn(3) ? kExact : 0;
  if (OneIn(8)) flags |= SomeBits(kPageFlags);
  if (OneIn(16)) flags |= SomeBits(kIgnoredFlags);
  uint64_t ptex = GroupStart(HashOf(page), secondary, state.group_mask()) + Below(kSlots);
  if (OneIn(32)) ptex = AnyPlace(state).ptex;
  return {flags, ptex, v, RandomR(block), rng_(), rng_()};
}

Step RandomHcalls::FillBlock(const ReferenceModel& state) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    filled_ = Below(blocks_.size());
    const auto& taken = block_remove_sizes_;
    if (std::find(taken.begin(), taken.end(), blocks_[filled_].sizes) != taken.end()) break;
  }
  const Block& block = blocks_[filled_];
  for (uint64_t index = 0; index < kPagesInBlock; ++index) {
    const VirtualPage page = PageOf(block, index);
    const bool secondary = OneIn(4);
    hcall::HcallRequest request{.opcode = hcall::kHEnter};
    request.registers = {0, GroupStart(HashOf(page), secondary, state.group_mask()),
                         AvpnOf(page) | (block.sizes.actual > 12 ? kLarge : 0) |
                             (secondary ? kSecondary : 0) | kPresent,
                         RandomR(block)};
    planned_.emplace_back(request);
  }
  return Next(state);
}

hcall::Registers RandomHcalls::Remove(const ReferenceModel& state) {
  const Place place = AnyPlace(state);
  switch (Below(4)) {
    case 0:
      return {0, place.ptex, rng_()};
    case 1:
      return {kAndCond, place.ptex, OneIn(4) ? SomeBits(0x7f) : kBolted};
    case 2:
      return {kAndCond | kAvpnFlag, place.ptex, OneIn(4) ? AvpnArgument(place) : 0};
    default:
      return {kAvpnFlag, place.ptex, AvpnArgument(place)};
  }
}

hcall::Registers RandomHcalls::Read(const ReferenceModel& state) {
  return {(OneIn(2) ? kRead4 : 0) | (OneIn(8) ? 0x4000000000 : 0), AnyPlace(state).ptex};
}

uint64_t RandomHcalls::ProtectionFlags() {
  return SomeBits(0x3f07) | (OneIn(16) ? SomeBits(kIgnoredFlags | kAndCond) : 0);
}

hcall::Registers RandomHcalls::Protect(const ReferenceModel& state) {
  const Place place = AnyPlace(state);
  return {ProtectionFlags() | (OneIn(4) ? 0 : kAvpnFlag), place.ptex, AvpnArgument(place)};
}

hcall::Registers RandomHcalls::Clear(const ReferenceModel& state) {
  return {OneIn(8) ? SomeBits(kIgnoredFlags) : 0, AnyPlace(state).ptex, rng_()};
}

hcall::Registers RandomHcalls::BulkRemove(const ReferenceModel& state) {
  Registers registers{};
  registers[8] = rng_();
  for (int i = 0; i < 4; ++i) {
    const Place place = AnyPlace(state);
    uint64_t control = Pick<uint64_t>({0x40, 0x41, 0x42, 0x42, 0x42});
    uint64_t low = AvpnArgument(place);
    if (control == 0x41) low = OneIn(2) ? kBolted : SomeBits(0x7f);
    if (OneIn(10)) control = Pick<uint64_t>({0xc0, 0xff, 0x00, 0x02, 0x43, 0x82, 0x52, 0x7d});
    registers[2 * i] = (control << 56) | (place.ptex & 0x00ffffffffffffff);
    registers[2 * i + 1] = low;
    if (i > 0 && OneIn(16)) registers[2 * i] = registers[2 * i - 2];  // one entry twice
  }
  return registers;
}

hcall::Registers RandomHcalls::BlockRemove(const ReferenceModel& state) {
  const Block& block = OneIn(4) ? AnyBlock() : blocks_[filled_];
  const uint64_t first = Below(kPagesInBlock);
  const bool only_present = OneIn(2);
  Registers registers{};
  registers[0] = AvpnArgument({0, AvpnOf(PageOf(block, first))});
  size_t next = 1;
  for (uint64_t k = 0; k < kPagesInBlock; ++k) {
    const Block& named = !only_present && OneIn(12) ? AnyBlock() : block;
    const Place place = FindPage(state, named, (first + k) % kPagesInBlock);
    if (only_present && !state.Present(place.ptex)) continue;
    registers[next++] = BlockSpecifier(state, place.ptex);
    if (next > 2 && OneIn(24)) registers[next - 1] = registers[next - 2];  // one entry twice
  }
  if (next < registers.size()) registers[next] = uint64_t{0xc0} << 56;
  return registers;
}

uint64_t RandomHcalls::BlockSpecifier(const ReferenceModel& state, uint64_t ptex) {
  uint64_t control = OneIn(4) ? 0x40 : 0x41;
  if (OneIn(40)) control = Pick<uint64_t>({0xc0, 0x00, 0x81, 0x51, 0x61, 0x71, 0x4f, 0x49});
  if (OneIn(40)) ptex = Boundary(state);
  if (OneIn(64)) ptex |= uint64_t{0xa5} << 48;
  return (control << 56) | (ptex & 0x00ffffffffffffff);
}

uint64_t RandomHcalls::SomeHash(const VirtualPage& page) {
  const uint64_t hash = HashOf(page);
  return OneIn(4) ? hash | SomeBits(~uint64_t{0x7fffffffff}) : hash;
}

hcall::Registers RandomHcalls::HashRemove() {
  const VirtualPage page = PageOf(AnyBlock(), Below(kPagesInBlock));
  const uint64_t flags = (OneIn(16) ? 0 : kAvpnFlag) | (OneIn(3) ? kAndCond : 0);
  return {flags, SomeHash(page), AvpnArgument({0, AvpnOf(page)}),
          OneIn(4) ? SomeBits(0x7f) : kBolted};
}

hcall::Registers RandomHcalls::HashProtect() {
  const VirtualPage page = PageOf(AnyBlock(), Below(kPagesInBlock));
  return {ProtectionFlags() | (OneIn(16) ? 0 : kAvpnFlag), SomeHash(page),
          AvpnArgument({0, AvpnOf(page)})};
}

hcall::Registers RandomHcalls::HashBulkRemove() {
  Registers registers{};
  const Block& block = AnyBlock();
  for (int i = 0; i < 4; ++i) {
    const VirtualPage page = PageOf(OneIn(8) ? AnyBlock() : block, Below(kPagesInBlock));
    uint64_t control = 0x42;
    if (OneIn(12)) control = Pick<uint64_t>({0xc0, 0xff, 0x00, 0x02, 0x40, 0x41, 0x43, 0x82, 0x7e});
    registers[2 * i] = (control << 56) | (SomeHash(page) & 0x00ffffffffffffff);
    registers[2 * i + 1] = AvpnArgument({0, AvpnOf(page)});
  }
  return registers;
}

hcall::Registers RandomHcalls::PageInit() {
  const uint64_t flags =
      (OneIn(2) ? 0x8000 : 0) | (OneIn(2) ? 0x4000 : 0) | (OneIn(4) ? SomeBits(0xf00c00000) : 0);
  const uint64_t destination = RealAddressAndWimg(12) & kRealPage;
  const uint64_t source = RealAddressAndWimg(12) & kRealPage;
  return {flags, destination | (OneIn(16) ? Below(4096) : 0),
          source | (OneIn(16) ? Below(4096) : 0)};
}

Step RandomHcalls::Resize(const ReferenceModel& state) {
  const int pending = state.pending_order().value_or(0);
  const uint64_t order = Pick<uint64_t>({18, 18, 19, 19, 20, 20, 21, 17, 47, 0, 46, 30});
  const uint64_t odd = OneIn(16) ? uint64_t{1} << (32 + Below(32)) : 0;
  const uint64_t flags = OneIn(24) ? Below(4) : 0;
  hcall::HcallRequest request;
  switch (Below(10)) {
    case 0:
    case 1:
      request.opcode = hcall::kHResizeHptPrepare;
      request.registers = {flags, order | odd};
      return request;
    case 2:
    case 3:
    case 4:
      request.opcode = hcall::kHResizeHptPrepare;
      request.registers = {flags, uint64_t(pending)};
      return request;
    case 5:
      request.opcode = hcall::kHResizeHptCommit;
      request.registers = {flags, (OneIn(4) ? order : uint64_t(pending)) | odd};
      return request;
    case 6:
      request.opcode = hcall::kHResizeHptCommit;
      request.registers = {0, uint64_t(pending)};
      return request;
    default:
      return FinishPreparation{
          OneIn(8) ? static_cast<int>(order) : pending,
          OneIn(4) ? Pick<int64_t>({hcall::kHNoMem, hcall::kHPtegFull}) : hcall::kHSuccess};
  }
}

}  // namespace papr::model
