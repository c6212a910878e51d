// H_ENTER, H_READ, H_REMOVE, H_PROTECT, H_CLEAR_REF, H_CLEAR_MOD, H_HASH_REMOVE and H_HASH_PROTECT.

#include "tests/model/reference_model.h"

namespace papr::model {
namespace {

constexpr uint64_t kExact = 0x8000000000;
constexpr uint64_t kRead4 = 0x2000000000;
constexpr uint64_t kAvpnFlag = 0x80000000;
constexpr uint64_t kAndCond = 0x40000000;
constexpr uint64_t kZeroPage = 0x8000;
constexpr uint64_t kICache = 0xc00000;

bool AvpnMatches(const Entry& entry, uint64_t avpn) { return (entry.v & ~uint64_t{0x7f}) == avpn; }

}  // namespace

bool ReferenceModel::AddressIsAllowed(uint64_t r, int actual_shift) const {
  const uint64_t page_bytes = uint64_t{1} << actual_shift;
  const uint64_t base = r & kRealPage & ~(page_bytes - 1);
  if (qemu()) {
    if (IsRam(base)) return (r & kWimg) == 0x10;
    return (r & 0x70) == 0x20 || (r & 0x70) == 0x30;
  }
  if (!IsRam(base)) return true;
  const hcall::MemoryRegion* region = RegionAt(base);
  return region->base % page_bytes == 0 && (region->base + region->size) % page_bytes == 0;
}

hcall::HcallResult ReferenceModel::Enter(const Registers& in) {
  const uint64_t flags = in[0];
  uint64_t ptex = in[1];
  uint64_t v = in[2];
  uint64_t r = in[3];
  if (!qemu() && (v & kSegmentSizeReserved) != 0) return NoOutputs(in, hcall::kHParameter);
  const std::optional<mmu::PageSizes> sizes = DecodePageSizes(config_.page_sizes, v, r);
  if (!sizes) return NoOutputs(in, hcall::kHParameter);
  if (qemu()) {
    v = (v & ~kHypervisorBits) | kDirty;
  } else {
    v = (v & ~kHypervisorBits) | kPresent;
    r &= ~kHypervisorR;
  }
  if (!AddressIsAllowed(r, sizes->actual)) return NoOutputs(in, hcall::kHParameter);
  if (ptex >= entry_count()) return NoOutputs(in, hcall::kHParameter);

  const uint64_t address = r & kRealPage & ~((uint64_t{1} << sizes->actual) - 1);
  const bool touches_memory = !qemu() && config_.guest_memory != nullptr && IsRam(address);
  if (touches_memory && (flags & (kZeroPage | kICache)) != 0 && sizes->actual > 16) {
    return NoOutputs(in, hcall::kHTooBig);
  }

  if ((flags & kExact) == 0) {
    const uint64_t end = (ptex | 7) + 1;
    ptex &= ~uint64_t{7};
    while (ptex < end && Present(ptex)) ++ptex;
    if (ptex == end) return NoOutputs(in, hcall::kHPtegFull);
  } else if (Present(ptex)) {
    return NoOutputs(in, hcall::kHPtegFull);
  }
  if (touches_memory && (flags & kZeroPage) != 0) {
    config_.guest_memory->Zero(address, uint64_t{1} << sizes->actual);
  }
  Set(ptex, {v, r});
  Result result{hcall::kHSuccess, 1, in};
  result.registers[0] = ptex;
  return result;
}

hcall::HcallResult ReferenceModel::Read(const Registers& in) const {
  const bool four = (in[0] & kRead4) != 0;
  uint64_t ptex = in[1];
  if (ptex >= entry_count()) return NoOutputs(in, hcall::kHParameter);
  if (four) ptex &= ~uint64_t{3};
  const int count = four ? 4 : 1;
  Result result{hcall::kHSuccess, 2 * count, in};
  for (int i = 0; i < count; ++i) {
    const Entry entry = At(ptex + i);
    result.registers[2 * i] = entry.v;
    result.registers[2 * i + 1] = entry.r;
  }
  return result;
}

Entry ReferenceModel::Take(uint64_t ptex) {
  const Entry old = At(ptex);
  Set(ptex, {qemu() ? kDirty : 0, 0});
  return old;
}

hcall::HcallResult ReferenceModel::Remove(const Registers& in) {
  const uint64_t flags = in[0];
  const uint64_t ptex = in[1];
  const uint64_t avpn = in[2];
  if (ptex >= entry_count()) return NoOutputs(in, hcall::kHParameter);
  const Entry entry = At(ptex);
  if (!Present(ptex)) return NoOutputs(in, hcall::kHNotFound);
  if ((flags & kAvpnFlag) != 0 && !AvpnMatches(entry, avpn)) {
    return NoOutputs(in, hcall::kHNotFound);
  }
  if ((flags & kAndCond) != 0 && (entry.v & avpn) != 0) return NoOutputs(in, hcall::kHNotFound);
  const Entry old = Take(ptex);
  Result result{hcall::kHSuccess, 2, in};
  result.registers[0] = old.v;
  result.registers[1] = old.r;
  return result;
}

void ReferenceModel::ApplyProtection(uint64_t ptex, uint64_t flags) {
  const uint64_t bits =
      ((flags << 55) & 0x8000000000000000) | ((flags << 48) & 0x3000000000000000) | (flags & 0xe07);
  Entry entry = At(ptex);
  entry.r = (entry.r & ~kProtectMask) | bits;
  if (qemu()) entry.v |= kDirty;
  Set(ptex, entry);
}

hcall::HcallResult ReferenceModel::Protect(const Registers& in) {
  const uint64_t flags = in[0];
  const uint64_t ptex = in[1];
  if (ptex >= entry_count()) return NoOutputs(in, hcall::kHParameter);
  if (!Present(ptex)) return NoOutputs(in, hcall::kHNotFound);
  if ((flags & kAvpnFlag) != 0 && !AvpnMatches(At(ptex), in[2])) {
    return NoOutputs(in, hcall::kHNotFound);
  }
  ApplyProtection(ptex, flags);
  return NoOutputs(in, hcall::kHSuccess);
}

hcall::HcallResult ReferenceModel::ClearReferenceOrChange(const Registers& in, uint64_t bit) {
  const uint64_t ptex = in[1];
  if (ptex >= entry_count()) return NoOutputs(in, hcall::kHParameter);
  if (!Present(ptex)) return NoOutputs(in, hcall::kHNotFound);
  const Entry old = At(ptex);
  Set(ptex, {old.v, old.r & ~bit});
  Result result{hcall::kHSuccess, 1, in};
  result.registers[0] = old.r;
  return result;
}

std::optional<uint64_t> ReferenceModel::Find(uint64_t hash, uint64_t avpn) const {
  for (const bool secondary : {false, true}) {
    const uint64_t first = GroupStart(hash, secondary, group_mask());
    for (uint64_t ptex = first; ptex < first + kSlots; ++ptex) {
      const Entry entry = At(ptex);
      if ((entry.v & kPresent) != 0 && AvpnMatches(entry, avpn) &&
          ((entry.v & kSecondary) != 0) == secondary) {
        return ptex;
      }
    }
  }
  return std::nullopt;
}

hcall::HcallResult ReferenceModel::HashRemove(const Registers& in) {
  const uint64_t flags = in[0];
  if ((flags & kAvpnFlag) == 0) return NoOutputs(in, hcall::kHParameter);
  const std::optional<uint64_t> ptex = Find(in[1], in[2]);
  if (!ptex) return NoOutputs(in, hcall::kHNotFound);
  if ((flags & kAndCond) != 0 && (At(*ptex).v & in[3]) != 0) {
    return NoOutputs(in, hcall::kHNotFound);
  }
  const Entry old = Take(*ptex);
  Result result{hcall::kHSuccess, 2, in};
  result.registers[0] = old.v;
  result.registers[1] = old.r;
  return result;
}

hcall::HcallResult ReferenceModel::HashProtect(const Registers& in) {
  if ((in[0] & kAvpnFlag) == 0) return NoOutputs(in, hcall::kHParameter);
  const std::optional<uint64_t> ptex = Find(in[1], in[2]);
  if (!ptex) return NoOutputs(in, hcall::kHNotFound);
  ApplyProtection(*ptex, in[0]);
  return NoOutputs(in, hcall::kHSuccess);
}

}  // namespace papr::model
