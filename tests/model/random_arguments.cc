// The arguments of each call that RandomHcalls makes.

#include <algorithm>

#include "tests/model/random_hcalls.h"

namespace papr::model {
namespace {

constexpr uint64_t kExact = 0x8000000000;
constexpr uint64_t kRead4 = 0x2000000000;
constexpr uint64_t kAvpnFlag = 0x80000000;
constexpr uint64_t kAndCond = 0x40000000;
constexpr uint64_t kPageFlags = 0xc08000;  // zero page, I-cache
constexpr uint64_t kIgnoredFlags = 0xffff000f003e00c0;
constexpr uint64_t kNeighbours = 2;  // pages of the next block that are used now and then

}  // namespace

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
  // One that is bolted lets no resize of qemu-tcg succeed.
  if (OneIn((v & kBolted) != 0 ? 512 : 32)) v |= kSegmentSizeReserved;
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
  for (uint64_t index = 0; index < kPagesInBlock + kNeighbours; ++index) {
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
    const uint64_t index =
        OneIn(16) ? kPagesInBlock + Below(kNeighbours) : (first + k) % kPagesInBlock;
    const Place place = FindPage(state, named, index);
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
