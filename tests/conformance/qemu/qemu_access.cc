// Accesses of the guest program through the MMU, and the R and C updates that they make.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mmu/page_size.h"
#include "mmu/virtual_address.h"
#include "tests/conformance/qemu/qemu_machine.h"

namespace papr::conformance {
namespace {

// L and LP of a segment with that base page size, as slbmte takes them.
std::optional<uint64_t> SlbPageSize(const mmu::PageSizeTable& table, int base_shift) {
  for (const mmu::SegmentPageSize& segment : table.segments()) {
    if (segment.base == base_shift) return segment.slb;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<GuestAccess> QemuMachine::AccessThrough(uint64_t ptex, const mmu::Hpte& hpte) const {
  constexpr uint64_t kEsid = 0x123;  // any; segment 0 is left alone
  constexpr uint64_t kSlbValid = 0x8000000;
  constexpr uint64_t kSlbEntry = 1;
  const auto sizes = config_.page_sizes.Decode(hpte.v, hpte.r);
  const auto slb = sizes ? SlbPageSize(config_.page_sizes, sizes->base) : std::nullopt;
  if (!slb.has_value() || (hpte.v & mmu::kVSegmentSizeReserved) != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "no access translates through entry 0x%x, 0x%016x 0x%016x", ptex, hpte.v, hpte.r));
  }
  const mmu::VirtualAddress va = mmu::RecoverVirtualAddress(hpte, ptex, sizes->base);
  const bool terabyte = va.segment == mmu::SegmentSize::k1T;
  const uint64_t segment = kEsid << mmu::SegmentShift(va.segment);
  GuestAccess access;
  access.effective_address = segment | va.offset;
  access.slb_vsid = (uint64_t{terabyte} << 62) | (va.vsid << (terabyte ? 24 : 12)) | *slb;
  access.slb_esid = segment | kSlbValid | kSlbEntry;
  return access;
}

absl::StatusOr<AccessResult> QemuMachine::Access(const GuestAccess& access) {
  const auto answer = process_->Call(OPERATION_ACCESS, {access.effective_address, access.slb_vsid,
                                                        access.slb_esid, access.kind, access.byte});
  if (!answer.ok()) return answer.status();
  return AccessResult{.interrupt = (*answer)[0],
                      .dsisr = (*answer)[1],
                      .dar = (*answer)[2],
                      .byte = static_cast<uint8_t>((*answer)[3])};
}

absl::StatusOr<mmu::Hpte> QemuMachine::ReadEntry(uint64_t ptex) {
  const auto read = Hcall({.opcode = hcall::kHRead, .registers = {0, ptex}});
  if (!read.ok()) return read.status();
  if (read->return_code != hcall::kHSuccess) {
    return absl::OutOfRangeError(absl::StrFormat("entry 0x%x: the table has none", ptex));
  }
  return mmu::Hpte{read->registers[0], read->registers[1]};
}

absl::Status QemuMachine::SetReferenceChange(std::span<const hcall::ReferenceChange> updates) {
  for (size_t i = 0; i < updates.size(); ++i) {
    if (const absl::Status status = SetReferenceChange(updates[i]); !status.ok()) {
      const absl::string_view message = status.message();
      return absl::Status(status.code(), absl::StrCat("update ", i, ": ", message));
    }
  }
  return absl::OkStatus();
}

absl::Status QemuMachine::SetReferenceChange(const hcall::ReferenceChange& update) {
  const auto before = ReadEntry(update.ptex);
  if (!before.ok()) return before.status();
  if ((before->v & mmu::kVValid) == 0) {
    return absl::FailedPreconditionError(absl::StrFormat("entry 0x%x is not valid", update.ptex));
  }
  if (update.changed && !update.referenced && (before->r & mmu::kRReferenced) == 0) {
    return absl::UnimplementedError("no access sets C without R");
  }
  if (!update.changed && !update.referenced) return absl::OkStatus();
  auto access = AccessThrough(update.ptex, *before);
  if (!access.ok()) return access.status();
  access->kind = update.changed ? ACCESS_STORE_BACK : ACCESS_LOAD;
  const auto result = Access(*access);
  if (!result.ok()) return result.status();
  if (result->interrupt != 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the access through entry 0x%x: %s", update.ptex, result->Describe()));
  }
  const auto after = ReadEntry(update.ptex);
  if (!after.ok()) return after.status();
  const uint64_t wanted =
      (update.referenced ? mmu::kRReferenced : 0) | (update.changed ? mmu::kRChanged : 0);
  if ((after->r & wanted) == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the access translated, but not through entry 0x%x", update.ptex));
}

}  // namespace papr::conformance
