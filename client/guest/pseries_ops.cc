#include "client/guest/pseries_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hcall/abi.h"
#include "hcall/bulk_specifier.h"

namespace papr::client::guest {
namespace {

constexpr uint64_t kHashProtectOffset = 4;
constexpr uint64_t kHashBulkRemoveOffset = 8;
static_assert(hcall::kHHashRemove + kHashProtectOffset == hcall::kHHashProtect);
static_assert(hcall::kHHashRemove + kHashBulkRemoveOffset == hcall::kHHashBulkRemove);

// Where Linux would stop with a message.
absl::Status Fatal(const hcall::HcallRequest& request, int64_t return_code) {
  return absl::InternalError(absl::StrCat(std::string(hcall::OpcodeName(request.opcode)),
                                          " returned ", hcall::ReturnCodeName(return_code)));
}

}  // namespace

FirmwareFeatures ReadFirmwareFeatures(const hcall::DeviceTree& tree) {
  const auto has = [&tree](const char* name) {
    return std::find(tree.hypertas_functions.begin(), tree.hypertas_functions.end(), name) !=
           tree.hypertas_functions.end();
  };
  return {.bulk_remove = has("hcall-bulk"), .hash_api = has("hcall-hash-api")};
}

absl::StatusOr<PseriesOps> PseriesOps::Create(Hypervisor* hypervisor,
                                              const PseriesOptions& options) {
  if (options.mode == SlotMode::kHash && !options.features.hash_api) {
    return absl::FailedPreconditionError(
        "mode hash needs the H_HASH_* hcalls, and the partition does not list hcall-hash-api among "
        "its ibm,hypertas-functions: create it with the feature hash, or use mode find");
  }
  return PseriesOps(hypervisor, options);
}

PseriesOps::PseriesOps(Hypervisor* hypervisor, const PseriesOptions& options)
    : hypervisor_(hypervisor),
      options_(options),
      hash_mask_((uint64_t{1} << (options.hpt_order - 7)) - 1),
      random_(static_cast<std::minstd_rand::result_type>(options.seed)) {}

absl::StatusOr<std::optional<uint8_t>> PseriesOps::Insert(uint64_t pteg, const mmu::Hpte& hpte) {
  const hcall::HcallRequest request =
      MakeHcall(hcall::kHEnter, {0, pteg << mmu::kPtegShift, hpte.v, hpte.r});
  absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(request);
  if (!result.ok()) return result.status();
  if (result->return_code == hcall::kHPtegFull) return std::nullopt;
  if (result->return_code != hcall::kHSuccess) return Fatal(request, result->return_code);
  const auto index = static_cast<uint8_t>(result->registers[0] & 7);
  const bool secondary = (hpte.v & mmu::kVSecondary) != 0;
  return static_cast<uint8_t>(secondary ? index | kSlotSecondary : index);
}

absl::StatusOr<bool> PseriesOps::Evict(uint64_t pteg) {
  uint64_t slot = random_() & 7;  // Linux takes the time base
  for (int tries = 0; tries < mmu::kHptesPerPteg; ++tries, slot = (slot + 1) & 7) {
    const hcall::HcallRequest request = MakeHcall(
        hcall::kHRemove, {hcall::kFlagAndCond, (pteg << mmu::kPtegShift) + slot, mmu::kVBolted});
    absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(request);
    if (!result.ok()) return result.status();
    if (result->return_code == hcall::kHSuccess) return true;
    if (result->return_code != hcall::kHNotFound && result->return_code != hcall::kHResource) {
      return Fatal(request, result->return_code);
    }
  }
  return false;
}

// Four entries a read: the halves of the primary PTEG, then those of the secondary. A read that
// fails is passed over. An entry counts only in the PTEG that its H bit says: in a small table the
// secondary entry of another page may sit in this page's primary PTEG and show the same AVPN.
absl::StatusOr<std::optional<uint64_t>> PseriesOps::Find(const HashedPage& page) {
  ++finds_;
  for (const uint64_t secondary : {uint64_t{0}, mmu::kVSecondary}) {
    const uint64_t hash = secondary != 0 ? ~page.hash : page.hash;
    const uint64_t first = (hash & hash_mask_) << mmu::kPtegShift;
    const uint64_t want = page.avpn | secondary | mmu::kVValid;
    for (const uint64_t half : {0, 4}) {
      ++find_reads_;
      absl::StatusOr<hcall::HcallResult> result =
          hypervisor_->Hcall(MakeHcall(hcall::kHRead, {hcall::kFlagRead4, first + half}));
      if (!result.ok()) return result.status();
      if (result->return_code != hcall::kHSuccess) continue;
      for (size_t i = 0; i < 4; ++i) {
        const uint64_t v = result->registers[2 * i];
        if ((v & (mmu::kVCompare | mmu::kVSecondary | mmu::kVValid)) == want) {
          return first + half + i;
        }
      }
    }
  }
  return std::nullopt;
}

// The hcall that removes one page; nothing if a search shows that its entry is gone.
absl::StatusOr<std::optional<hcall::HcallRequest>> PseriesOps::RemoveRequest(
    const HashedPage& page) {
  if (options_.mode == SlotMode::kHash) {
    return MakeHcall(options_.hash_opcode_base, {hcall::kFlagAvpn, page.hash, page.avpn});
  }
  absl::StatusOr<std::optional<uint64_t>> ptex = BulkTarget(page);
  if (!ptex.ok()) return ptex.status();
  if (!ptex->has_value()) return std::nullopt;
  return MakeHcall(hcall::kHRemove, {hcall::kFlagAvpn, **ptex, page.avpn});
}

// What names the page in a bulk specifier: its ptex or its hash.
absl::StatusOr<std::optional<uint64_t>> PseriesOps::BulkTarget(const HashedPage& page) {
  switch (options_.mode) {
    case SlotMode::kSlot:
      return PtexOf(page, hash_mask_);
    case SlotMode::kFind:
      return Find(page);
    case SlotMode::kHash:
      return page.hash;
  }
  return std::nullopt;
}

absl::Status PseriesOps::Invalidate(const HashedPage& page) {
  absl::StatusOr<std::optional<hcall::HcallRequest>> request = RemoveRequest(page);
  if (!request.ok()) return request.status();
  if (!request->has_value()) return absl::OkStatus();
  absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(**request);
  if (!result.ok()) return result.status();
  if (result->return_code != hcall::kHSuccess && result->return_code != hcall::kHNotFound) {
    return Fatal(**request, result->return_code);
  }
  return absl::OkStatus();
}

absl::Status PseriesOps::FlushRange(std::span<const HashedPage> pages) {
  const absl::Status status = options_.features.bulk_remove ? FlushBulk(pages) : FlushSingly(pages);
  if (!status.ok()) return status;
  return SendPosted();
}

absl::Status PseriesOps::FlushBulk(std::span<const HashedPage> pages) {
  hcall::HcallRequest request;
  request.opcode = options_.mode == SlotMode::kHash
                       ? options_.hash_opcode_base + kHashBulkRemoveOffset
                       : uint64_t{hcall::kHBulkRemove};
  int pairs = 0;
  for (const HashedPage& page : pages) {
    absl::StatusOr<std::optional<uint64_t>> target = BulkTarget(page);
    if (!target.ok()) return target.status();
    if (!target->has_value()) continue;
    request.registers[2 * pairs] = hcall::BulkRequest(hcall::BulkTest::kAvpn, **target);
    request.registers[2 * pairs + 1] = page.avpn;
    if (++pairs == hcall::kBulkSpecifiers) {
      if (absl::Status status = SendRemoval(request); !status.ok()) return status;
      request.registers = {};
      pairs = 0;
    }
  }
  if (pairs == 0) return absl::OkStatus();
  request.registers[2 * pairs] = hcall::kBulkEnd;
  return SendRemoval(request);
}

absl::Status PseriesOps::FlushSingly(std::span<const HashedPage> pages) {
  for (const HashedPage& page : pages) {
    absl::StatusOr<std::optional<hcall::HcallRequest>> request = RemoveRequest(page);
    if (!request.ok()) return request.status();
    if (!request->has_value()) continue;
    if (absl::Status status = SendRemoval(**request); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Issues a removal and waits for it, or leaves it for SendPosted().
absl::Status PseriesOps::SendRemoval(const hcall::HcallRequest& request) {
  posted_.push_back(request);
  return options_.post_removals ? absl::OkStatus() : SendPosted();
}

absl::Status PseriesOps::SendPosted() {
  if (posted_.empty()) return absl::OkStatus();
  if (options_.post_removals) {
    const absl::Status status =
        hypervisor_->HcallBatch(posted_, hcall::BatchMode::kAll, &posted_results_);
    if (!status.ok()) return status;
  } else {
    absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(posted_.front());
    if (!result.ok()) return result.status();
    posted_results_.assign(1, *result);
  }
  for (size_t i = 0; i < posted_.size(); ++i) {
    const int64_t code = posted_results_[i].return_code;
    // A bulk call reports an entry that is gone in its specifier, a single one in its return code.
    if (code != hcall::kHSuccess && code != hcall::kHNotFound) return Fatal(posted_[i], code);
  }
  posted_.clear();
  return absl::OkStatus();
}

}  // namespace papr::client::guest
