#include "hcall/htab_import.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

// Entries stored under one guard, and what looking at one that is to be removed counts: some 50 us.
constexpr int64_t kStoresPerGuard = 512;
constexpr int64_t kLooksPerStore = 8;
// Between two guards: enough for a thread that waits to be woken.
constexpr auto kRestBetweenGuards = std::chrono::microseconds(20);

}  // namespace

HtabImport::HtabImport(Partition& partition, std::endian header_order)
    : partition_(partition), header_order_(header_order) {}

absl::StatusOr<size_t> HtabImport::Write(std::string_view bytes) {
  if (partition_.config().mmu == MmuKind::kRadix) {
    return absl::FailedPreconditionError("a radix partition has no hashed page table");
  }
  size_t consumed = 0;
  std::optional<InProgress> work;
  for (bool first = true;; first = false) {
    // A mutex that is taken again at once leaves those who wait for it no chance.
    if (!first) std::this_thread::sleep_for(kRestBetweenGuards);
    const Quiescence::Exclusive guard(partition_.quiescence());
    if (generation_.value_or(partition_.table_generation()) != partition_.table_generation()) {
      return absl::AbortedError("the table was reset or resized while entries were imported");
    }
    generation_ = partition_.table_generation();
    for (int64_t budget = kStoresPerGuard * kLooksPerStore; budget > 0;) {
      if (!work.has_value()) {
        const auto record = mmu::ParseHtabRecord(bytes.substr(consumed), header_order_);
        if (!record.has_value()) return consumed;
        if (absl::Status status = Check(record->header); !status.ok()) return status;
        work = InProgress{*record};
      }
      const auto done = Apply(*work, &budget);
      if (!done.ok()) return done.status();
      if (!*done) continue;
      consumed += work->record.bytes();
      ++counts_.records;
      work.reset();
    }
  }
}

absl::Status HtabImport::Check(const mmu::HtabHeader& header) const {
  const uint64_t entries = partition_.table().entry_count();
  const uint64_t last = uint64_t{header.index} + header.n_valid + header.n_invalid;
  if (header.index < entries && last <= entries) return absl::OkStatus();
  return Refuse(absl::StrFormat(
      "index 0x%x with %d valid and %d invalid entries is outside the table of 0x%x entries",
      header.index, header.n_valid, header.n_invalid, entries));
}

absl::StatusOr<bool> HtabImport::Apply(InProgress& work, int64_t* budget) {
  const mmu::HtabHeader& header = work.record.header;
  --*budget;
  for (; work.valid_done < header.n_valid; ++work.valid_done) {
    if (*budget <= 0) return false;
    *budget -= kLooksPerStore;
    const absl::Status status =
        StoreEntry(header.index + uint64_t{work.valid_done}, work.record.entry(work.valid_done));
    if (!status.ok()) return status;
  }
  RemoveEntries(header.index + uint64_t{header.n_valid}, work, budget);
  return work.invalid_done == header.n_invalid;
}

absl::Status HtabImport::StoreEntry(uint64_t ptex, const mmu::Hpte& hpte) {
  const auto refuse = [&](std::string_view what) {
    return Refuse(
        absl::StrFormat("entry 0x%x, V 0x%016x, R 0x%016x: %s", ptex, hpte.v, hpte.r, what));
  };
  if ((hpte.v & mmu::kVValid) == 0) return refuse("it is given as valid, and V is not");
  if (!partition_.config().page_sizes.Decode(hpte.v, hpte.r).has_value()) {
    return refuse("the page size is none of the partition's");
  }
  if (auto entry = LockValid(partition_.table(), ptex)) RemoveEntry(partition_, *entry);
  Registers registers = {kFlagExact, ptex, hpte.v, hpte.r};
  const Outcome outcome = Enter(partition_, registers);
  if (outcome.return_code != kHSuccess) {
    return refuse(absl::StrCat("H_ENTER refuses it with ", ReturnCodeName(outcome.return_code)));
  }
  ++counts_.stored;
  return absl::OkStatus();
}

void HtabImport::RemoveEntries(uint64_t first, InProgress& work, int64_t* budget) {
  HashPageTable& table = partition_.table();
  const uint64_t end = first + work.record.header.n_invalid;
  uint64_t ptex = first + work.invalid_done;
  while (*budget > 0 && (ptex = table.NextTouched(ptex, end)) < end) {
    --*budget;
    if (auto entry = LockValid(table, ptex)) {
      RemoveEntry(partition_, *entry);
      ++counts_.removed;
    }
    ++ptex;
  }
  work.invalid_done = static_cast<uint32_t>(std::min(ptex, end) - first);
}

absl::Status HtabImport::Refuse(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrFormat("record %d: %s", counts_.records + 1, what));
}

}  // namespace papr::hcall
