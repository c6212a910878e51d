#include "hcall/guest_pages.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "hcall/entry_ops.h"

namespace papr::hcall {
namespace {

using mmu::DirtyLog;
using mmu::kGuestPageBytes;
using mmu::ReferenceHarvest;
using mmu::ReverseMap;

// Pages looked at under one guard: some 10 us if few are mapped, a millisecond if all are.
constexpr uint64_t kGuardedPages = 4096;
constexpr uint64_t kRealAddressEnd = uint64_t{1} << 60;

absl::Status CheckTracked(const Partition& partition) {
  if (partition.reverse_map() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the partition does not track guest pages: create it with track_guest_pages");
}

absl::Status CheckAligned(absl::string_view field, uint64_t value) {
  if (value % kGuestPageBytes == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: 0x%x is no multiple of 4096", field, value));
}

absl::Status CheckRange(uint64_t base, uint64_t bytes) {
  if (absl::Status status = CheckAligned("base", base); !status.ok()) return status;
  if (absl::Status status = CheckAligned("size", bytes); !status.ok()) return status;
  if (bytes == 0) return absl::InvalidArgumentError("size: 0 is no size of a range");
  if (base >= kRealAddressEnd || bytes > kRealAddressEnd - base) {
    return absl::InvalidArgumentError(
        absl::StrFormat("size: the range at 0x%x ends beyond 2^60", base));
  }
  return absl::OkStatus();
}

// Appends what lies behind the pages before it.
void Append(uint64_t address, uint64_t bytes, std::vector<PageRun>& runs) {
  if (!runs.empty() && runs.back().address + runs.back().bytes == address) {
    runs.back().bytes += bytes;
  } else {
    runs.push_back({address, bytes});
  }
}

// Makes C of the entries that map these pages old.
void HarvestChanges(ReverseMap& map, uint64_t first, uint64_t count) {
  map.ForEachHead(first, count, [&map](uint64_t head) { map.Harvest(head, mmu::kRChanged); });
}

}  // namespace

absl::StatusOr<DirtyPages> TakeDirtyPages(Partition& partition, uint64_t start, size_t max_runs,
                                          DirtyLog::Take take) {
  if (absl::Status status = CheckTracked(partition); !status.ok()) return status;
  if (absl::Status status = CheckAligned("start", start); !status.ok()) return status;
  ReverseMap& map = *partition.reverse_map();
  DirtyLog& log = map.dirty_log();
  const uint64_t pages = map.ram().pages();
  DirtyPages out;
  const std::lock_guard<std::mutex> question(log.question_mutex());
  uint64_t taken = 0;
  uint64_t page = log.NextMarked(map.ram().FirstPageFrom(start), pages);
  const auto fits = [&] {
    if (taken >= kMaxTakenPages) return false;
    return out.runs.size() < max_runs ||
           out.runs.back().address + out.runs.back().bytes == map.ram().AddressOf(page);
  };
  while (page < pages && fits()) {
    // Ends with the RAM's part, so that it is one run.
    const uint64_t limit = std::min(map.ram().PartEnd(page), page + kGuardedPages);
    const Quiescence::Shared guard(partition.quiescence());
    const uint64_t count = log.TakeRun(page, limit, take);
    if (take == DirtyLog::Take::kYes) HarvestChanges(map, page, count);
    Append(map.ram().AddressOf(page), count * kGuestPageBytes, out.runs);
    taken += count;
    page = log.NextMarked(page + count, pages);
  }
  out.more = page < pages;
  if (out.more) out.next = map.ram().AddressOf(page);
  return out;
}

absl::StatusOr<Mappings> ListMappings(Partition& partition, uint64_t page, size_t max_mappings) {
  if (absl::Status status = CheckTracked(partition); !status.ok()) return status;
  if (absl::Status status = CheckAligned("page", page); !status.ok()) return status;
  ReverseMap& map = *partition.reverse_map();
  Mappings out;
  const Quiescence::Shared guard(partition.quiescence());
  const auto number = map.ram().PageAt(page);
  if (!number.has_value()) return out;
  const auto add = [&](HashPageTable::LockedEntry& entry, const ReverseMap::MappedPage& mapped) {
    const int shift = map.sizes()[mapped.size];
    if (page >> shift != mapped.address >> shift) return true;
    out.more = out.mappings.size() == max_mappings;
    if (out.more) return false;
    const auto sizes = partition.config().page_sizes.Decode(entry.v(), entry.r());
    out.mappings.push_back({entry.ptex(), entry.hpte(), sizes.value_or(mmu::PageSizes{})});
    return true;
  };
  map.ForEachHead(*number, 1, [&](uint64_t head) {
    if (!out.more) map.ForEachEntry(head, add);
  });
  return out;
}

absl::StatusOr<HarvestedPages> HarvestReferenceChange(Partition& partition, uint64_t base,
                                                      uint64_t bytes, size_t max_runs,
                                                      ReferenceHarvest::Clear clear) {
  if (absl::Status status = CheckTracked(partition); !status.ok()) return status;
  if (absl::Status status = CheckRange(base, bytes); !status.ok()) return status;
  ReverseMap& map = *partition.reverse_map();
  const uint64_t first = map.ram().FirstPageFrom(base);
  const uint64_t range_end = map.ram().FirstPageFrom(base + bytes);
  const uint64_t end = std::min(range_end, first + kMaxRangePages);
  HarvestedPages out;
  ReferenceHarvest harvest(map, first, clear);
  uint64_t stop = first;
  while (harvest.next() == stop && stop < end) {
    stop = std::min(end, stop + kGuardedPages);
    const Quiescence::Shared guard(partition.quiescence());
    harvest.Advance(stop, max_runs, out.runs);
  }
  harvest.Finish();
  out.more = harvest.next() < range_end;
  if (out.more) out.next = map.ram().AddressOf(harvest.next());
  return out;
}

absl::StatusOr<RemovedMappings> RemoveMappings(Partition& partition, uint64_t base,
                                               uint64_t bytes) {
  if (absl::Status status = CheckTracked(partition); !status.ok()) return status;
  if (absl::Status status = CheckRange(base, bytes); !status.ok()) return status;
  ReverseMap& map = *partition.reverse_map();
  RemovedMappings out;
  const auto remove = [&](HashPageTable::LockedEntry& entry, const ReverseMap::MappedPage& mapped) {
    const uint64_t mapped_end = mapped.address + (uint64_t{1} << map.sizes()[mapped.size]);
    if (mapped_end <= base || mapped.address >= base + bytes) return true;
    RemoveEntry(partition, entry);
    ++out.removed;
    return true;
  };
  const uint64_t first = map.ram().FirstPageFrom(base);
  const uint64_t range_end = map.ram().FirstPageFrom(base + bytes);
  const uint64_t end = std::min(range_end, first + kMaxRangePages);
  for (uint64_t page = first; page < end; page += kGuardedPages) {
    const Quiescence::Shared guard(partition.quiescence());
    map.ForEachHead(page, std::min(end - page, kGuardedPages),
                    [&](uint64_t head) { map.ForEachEntry(head, remove); });
  }
  out.more = end < range_end;
  if (out.more) out.next = map.ram().AddressOf(end);
  return out;
}

}  // namespace papr::hcall
