#include "client/guest/anonymous_mapping.h"

#include <algorithm>
#include <optional>

#include "client/guest/mm_context.h"
#include "mmu/hpte.h"
#include "mmu/page_size.h"

namespace papr::client::guest {
namespace {

// A user's page, readable and writable, dirty, not executable, ordinary memory. Linux keeps R and C
// itself and enters both set.
constexpr uint64_t kUserData =
    mmu::kRReferenced | mmu::kRChanged | mmu::kRCoherent | mmu::kRNoExecute | 0x2;

}  // namespace

AnonymousMapping::AnonymousMapping(HashOps* ops, const MappingOptions& options)
    : ops_(ops), options_(options), batch_(ops), pages_(options.page_count) {}

absl::Status AnonymousMapping::Touch(uint64_t index) {
  const int shift = options_.page_shift;
  const uint64_t offset = index << shift;
  const mmu::VirtualAddress va =
      VirtualAddressOf(options_.context, options_.effective_address + offset);
  Page& page = pages_[index];
  page.hashed.hash = mmu::Hash(va, shift);
  page.hashed.avpn = mmu::AvpnWord(va, shift);
  mmu::Hpte hpte;
  hpte.v = page.hashed.avpn | mmu::kVValid | (shift > mmu::k4K ? mmu::kVLarge : 0);
  hpte.r = mmu::EncodeR(options_.real_address + offset, shift, static_cast<uint32_t>(options_.lp),
                        kUserData);
  const uint64_t mask = ops_->hash_mask();
  const uint64_t primary = page.hashed.hash & mask;
  const uint64_t secondary = ~page.hashed.hash & mask;
  int full_of_bolted = 0;
  for (bool evict_primary = true;; evict_primary = !evict_primary) {
    absl::StatusOr<std::optional<uint8_t>> slot = ops_->Insert(primary, hpte);
    if (slot.ok() && !slot->has_value()) {
      slot = ops_->Insert(secondary, {hpte.v | mmu::kVSecondary, hpte.r});
    }
    if (!slot.ok()) return slot.status();
    if (slot->has_value()) {
      page.hashed.slot = **slot;
      page.present = true;
      return absl::OkStatus();
    }
    // Both are full. Linux takes a bit of the time base to choose where to make room.
    absl::StatusOr<bool> evicted = ops_->Evict(evict_primary ? primary : secondary);
    if (!evicted.ok()) return evicted.status();
    full_of_bolted = *evicted ? 0 : full_of_bolted + 1;
    if (full_of_bolted == 2) {
      return absl::InternalError("both PTEGs of a page are full of bolted entries");
    }
  }
}

absl::Status AnonymousMapping::Unmap() {
  const uint64_t table_bytes = PtesPerTable(options_.page_shift) << options_.page_shift;
  for (uint64_t index = 0; index < pages_.size();) {
    batch_.EnterLazyMode();
    const uint64_t address = options_.effective_address + (index << options_.page_shift);
    const uint64_t rest_of_table = table_bytes - address % table_bytes;
    const uint64_t end =
        std::min<uint64_t>(pages_.size(), index + (rest_of_table >> options_.page_shift));
    for (; index < end; ++index) {
      Page& page = pages_[index];
      if (!page.present) continue;
      page.present = false;
      if (absl::Status status = batch_.Queue(page.hashed); !status.ok()) return status;
    }
    if (absl::Status status = batch_.LeaveLazyMode(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace papr::client::guest
