#include "mmu/export_marks.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace papr::mmu {
namespace {

constexpr uint8_t kStored = 1;
// Set by a table walk, and not so when the entry was reported.
constexpr uint8_t kReferencedByWalk = 2;
constexpr uint8_t kChangedByWalk = 4;

uint8_t WalkMarks(uint64_t bits) {
  return static_cast<uint8_t>(((bits & kRReferenced) != 0 ? kReferencedByWalk : 0) |
                              ((bits & kRChanged) != 0 ? kChangedByWalk : 0));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExportMarks>> ExportMarks::Create(uint64_t entry_count) {
  auto marks = std::unique_ptr<ExportMarks>(new ExportMarks(entry_count));
  if (!marks->marks_.ok()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the host has no address space for the export marks of %d entries", entry_count));
  }
  return marks;
}

uint64_t ExportMarks::NextDirty(uint64_t first, uint64_t end) const {
  while (first < end && !dirty(first)) ++first;
  return first;
}

void ExportMarks::OnStore(uint64_t ptex, const Hpte&, const Hpte&) { Set(ptex, kStored); }

void ExportMarks::OnSetReferenceChange(uint64_t ptex, const Hpte& old, uint64_t bits) {
  const uint8_t fresh = WalkMarks(bits & ~old.r);
  if (fresh != 0) Set(ptex, Get(ptex) | fresh);
}

void ExportMarks::OnClearReferenceChange(uint64_t ptex, const Hpte&, uint64_t bits) {
  const uint8_t cleared = WalkMarks(bits);
  const uint8_t before = Get(ptex);
  const bool reported = (before & cleared) != cleared;
  const auto left = static_cast<uint8_t>(before & ~cleared);
  Set(ptex, reported ? left | kStored : left);
}

void ExportMarks::OnClear() { marks_.Clear(); }

}  // namespace papr::mmu
