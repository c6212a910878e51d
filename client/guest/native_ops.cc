#include "client/guest/native_ops.h"

namespace papr::client::guest {

absl::StatusOr<std::optional<uint8_t>> NativeOps::Insert(uint64_t pteg, const mmu::Hpte& hpte) {
  const std::optional<uint64_t> ptex = table_->InsertFirstFree(pteg, hpte);
  if (!ptex.has_value()) return std::nullopt;
  const auto index = static_cast<uint8_t>(*ptex & 7);
  const bool secondary = (hpte.v & mmu::kVSecondary) != 0;
  return static_cast<uint8_t>(secondary ? index | kSlotSecondary : index);
}

absl::StatusOr<bool> NativeOps::Evict(uint64_t pteg) {
  uint64_t slot = random_() & 7;  // Linux takes the time base
  for (int tries = 0; tries < mmu::kHptesPerPteg; ++tries, slot = (slot + 1) & 7) {
    const uint64_t ptex = (pteg << mmu::kPtegShift) + slot;
    const uint64_t unlocked = table_->Read(ptex).v;
    if ((unlocked & (mmu::kVValid | mmu::kVBolted)) != mmu::kVValid) continue;
    mmu::HashPageTable::LockedEntry entry = table_->Lock(ptex);
    if ((entry.v() & (mmu::kVValid | mmu::kVBolted)) != mmu::kVValid) continue;
    entry.Store(table_->empty_entry());
    return true;
  }
  return false;
}

absl::Status NativeOps::Invalidate(const HashedPage& page) {
  mmu::HashPageTable::LockedEntry entry = table_->Lock(PtexOf(page, hash_mask()));
  if (entry.valid() && mmu::MatchesAvpn(entry.v(), page.avpn)) {
    entry.Store(table_->empty_entry());
  }
  return absl::OkStatus();
}

absl::Status NativeOps::FlushRange(std::span<const HashedPage> pages) {
  for (const HashedPage& page : pages) {
    if (absl::Status status = Invalidate(page); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace papr::client::guest
