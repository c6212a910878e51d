// H_RESIZE_HPT_PREPARE, H_RESIZE_HPT_COMMIT, H_CLEAR_HPT, H_PAGE_INIT and H_REGISTER_PROC_TBL.

#include <algorithm>
#include <map>

#include "tests/model/reference_model.h"

namespace papr::model {
namespace {

constexpr int kSmallestOrder = 18;
constexpr int kLargestOrder = 46;
constexpr uint64_t kPageBytes = 4096;  // H_PAGE_INIT acts on 4K whatever the page size.

}  // namespace

int ReferenceModel::LargestOrder() const {
  if (config_.max_order != 0) return config_.max_order;
  uint64_t ram = 0;
  for (const hcall::MemoryRegion& region : config_.memory) {
    if (region.kind == hcall::MemoryRegion::Kind::kRam) ram += region.size;
  }
  int log2 = 0;
  while (log2 < 63 && (uint64_t{1} << log2) < ram) ++log2;
  return std::clamp(log2 - 7, kSmallestOrder, kLargestOrder) + 1;
}

hcall::HcallResult ReferenceModel::ResizePrepare(const Registers& in) {
  if (!config_.resize_permitted) return NoOutputs(in, hcall::kHAuthority);
  if (radix()) return NoOutputs(in, hcall::kHNotAvailable);
  if (in[0] != 0) return NoOutputs(in, hcall::kHParameter);
  // QEMU looks at the low 32 bits as a signed number.
  const uint64_t shift = qemu() ? uint64_t(int64_t{static_cast<int32_t>(in[1])}) : in[1];
  if (shift != 0 && (shift < kSmallestOrder || shift > kLargestOrder)) {
    return NoOutputs(in, hcall::kHParameter);
  }
  const int order = static_cast<int>(shift);
  if (order > LargestOrder()) return NoOutputs(in, hcall::kHResource);
  if (pending_ && pending_->order == order) {
    if (!pending_->ready) return NoOutputs(in, hcall::kHLongBusyOrder100Msec);
    const int64_t return_code = pending_->return_code;
    if (return_code != hcall::kHSuccess && !qemu()) pending_.reset();
    return NoOutputs(in, return_code);
  }
  pending_.reset();
  if (order == 0) return NoOutputs(in, hcall::kHSuccess);
  pending_ = Pending{order, false, hcall::kHSuccess};
  return NoOutputs(in, hcall::kHLongBusyOrder100Msec);
}

bool ReferenceModel::FinishResizePreparation(int order, int64_t return_code) {
  if (!pending_ || pending_->order != order || pending_->ready) return false;
  pending_->ready = true;
  pending_->return_code = return_code;
  return true;
}

std::variant<ReferenceModel::Entries, hcall::ReturnCode> ReferenceModel::Rehash(
    int new_order) const {
  const uint64_t new_mask = (uint64_t{1} << (new_order - 7)) - 1;
  const std::map<uint64_t, Entry> in_index_order(entries_.begin(), entries_.end());
  Entries rehashed;
  for (const auto& [ptex, entry] : in_index_order) {
    if ((entry.v & kPresent) == 0 || (entry.v & kBolted) == 0) continue;
    if ((entry.v & kSegmentSizeReserved) != 0) return hcall::kHHardware;
    const mmu::PageSizes sizes = *DecodePageSizes(config_.page_sizes, entry.v, entry.r);
    const VirtualPage page = RecoverPage(entry.v, sizes.base, ptex, group_mask());
    const bool secondary = (entry.v & kSecondary) != 0;
    const uint64_t target = GroupStart(HashOf(page), secondary, new_mask) + ptex % kSlots;
    if (!rehashed.emplace(target, entry).second) return hcall::kHPtegFull;
  }
  return rehashed;
}

hcall::HcallResult ReferenceModel::ResizeCommit(const Registers& in) {
  if (!config_.resize_permitted) return NoOutputs(in, hcall::kHAuthority);
  if (radix()) return NoOutputs(in, hcall::kHNotAvailable);
  if (in[0] != 0) return NoOutputs(in, hcall::kHParameter);
  const uint64_t shift = in[1];
  if (!qemu() && shift != 0 && (shift < kSmallestOrder || shift > kLargestOrder)) {
    return NoOutputs(in, hcall::kHParameter);
  }
  if (!pending_ || uint64_t(pending_->order) != shift) return NoOutputs(in, hcall::kHClosed);
  if (!pending_->ready) return NoOutputs(in, hcall::kHBusy);
  const Pending pending = *pending_;
  pending_.reset();
  if (pending.return_code != hcall::kHSuccess) return NoOutputs(in, pending.return_code);
  std::variant<Entries, hcall::ReturnCode> rehashed = Rehash(pending.order);
  if (const auto* error = std::get_if<hcall::ReturnCode>(&rehashed)) return NoOutputs(in, *error);
  entries_ = std::get<Entries>(std::move(rehashed));
  order_ = pending.order;
  ground_ = Entry{};  // In QEMU too: only a table made at reset starts dirty.
  return NoOutputs(in, hcall::kHSuccess);
}

hcall::HcallResult ReferenceModel::ClearHpt(const Registers& in) {
  // Entries of the virtual real mode area are the hypervisor's and stay.
  constexpr uint64_t kVrma = 0x4001ffffff000000;
  for (auto& [ptex, entry] : entries_) {
    if ((entry.v & kPresent) != 0 && (entry.v & kVrma) == kVrma) continue;
    entry = Entry{};
  }
  return NoOutputs(in, hcall::kHSuccess);
}

hcall::HcallResult ReferenceModel::PageInit(const Registers& in) {
  constexpr uint64_t kCmo = 0x0000000f00000000;
  constexpr uint64_t kZero = 0x8000;
  constexpr uint64_t kCopy = 0x4000;
  const uint64_t flags = in[0];
  const uint64_t destination = in[1];
  const uint64_t source = in[2];
  const uint64_t known = 0x800000 | 0x400000 | kZero | kCopy | (qemu() ? 0 : kCmo);
  const bool copy = (flags & kCopy) != 0;
  const bool zero = !copy && (flags & kZero) != 0;
  if ((flags & ~known) != 0) return NoOutputs(in, hcall::kHParameter);
  if (destination % kPageBytes != 0 || (copy && source % kPageBytes != 0)) {
    return NoOutputs(in, hcall::kHParameter);
  }
  if ((copy || zero || qemu()) && !IsRam(destination)) return NoOutputs(in, hcall::kHParameter);
  if (copy && !IsRam(source)) return NoOutputs(in, hcall::kHParameter);
  if (config_.guest_memory != nullptr) {
    if (copy) config_.guest_memory->Copy(destination, source, kPageBytes);
    if (zero) config_.guest_memory->Zero(destination, kPageBytes);
  }
  return NoOutputs(in, hcall::kHSuccess);
}

hcall::HcallResult ReferenceModel::RegisterProcessTable(const Registers& in) const {
  const bool hash_with_slb =
      std::all_of(in.begin(), in.begin() + 4, [](uint64_t r) { return r == 0; });
  return NoOutputs(in, hash_with_slb ? hcall::kHSuccess : hcall::kHFunction);
}

}  // namespace papr::model
