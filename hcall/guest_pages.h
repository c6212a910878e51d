// What an operator may ask about the guest's pages of a partition with track_guest_pages: which
// entries map a page, which pages were changed or referenced; and what memory hot-unplug needs.
// Pages are of 4 KB, whatever the sizes that the guest maps; addresses are guest real. What is no
// RAM is never reported: entries that map it are not tracked.
//
// Threads: every function may be called from any thread at any time; hcalls, resizes and resets go
// on meanwhile. Each takes the partition's guard for a short while, again and again. Questions to
// one dirty log wait for each other.
//
// Errors of all: FAILED_PRECONDITION, with the remedy, if the partition does not track guest pages;
// INVALID_ARGUMENT, with the name of the field first: an address or a size that is no multiple of
// 4096, or a range that is empty or ends beyond 2^60.

#ifndef HCALL_GUEST_PAGES_H_
#define HCALL_GUEST_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hcall/partition.h"
#include "mmu/dirty_log.h"
#include "mmu/hpte.h"
#include "mmu/page_size.h"
#include "mmu/reference_harvest.h"

namespace papr::hcall {

// Guest pages that lie one behind the other.
struct PageRun {
  uint64_t address = 0;  // of the first
  uint64_t bytes = 0;

  friend bool operator==(const PageRun&, const PageRun&) = default;
};

struct DirtyPages {
  std::vector<PageRun> runs;  // ascending
  bool more = false;          // there may be further ones, from `next` on
  uint64_t next = 0;          // address
};

// The pages at or above `start` that were changed since they were last taken: stored to through an
// entry (C set by a table walk, or in an entry that became valid). At most `max_runs` runs, and
// about kMaxTakenPages pages.
// With Take::kYes they are taken: only a change that is made after this has returned is reported
// again, and each such change is in the next answer. Nothing that the guest sees changes.
absl::StatusOr<DirtyPages> TakeDirtyPages(Partition& partition, uint64_t start, size_t max_runs,
                                          mmu::DirtyLog::Take take);
// 4 GB: some tenths of a second if all are mapped.
inline constexpr uint64_t kMaxTakenPages = uint64_t{1} << 20;

// An entry that maps a page.
struct Mapping {
  uint64_t ptex = 0;
  mmu::Hpte hpte;
  mmu::PageSizes sizes;  // log2 of bytes
};
struct Mappings {
  std::vector<Mapping> mappings;
  bool more = false;  // there are more than asked for
};

// The entries that map the page at `page`, in no order, at most `max_mappings`. Those that come or
// go meanwhile may or may not be among them.
absl::StatusOr<Mappings> ListMappings(Partition& partition, uint64_t page, size_t max_mappings);

struct HarvestedPages {
  std::vector<mmu::ReferenceRun> runs;  // ascending; each referenced or changed
  bool more = false;                    // the range goes on from `next`
  uint64_t next = 0;                    // address
};

// The pages of a range that were referenced or changed since they were last told with Clear::kYes,
// as KVM's aging does it. At most `max_runs` runs, of at most kMaxRangePages pages. What the guest
// sees of R and C stays. A large page is told with the parts of it that the range holds, and
// cleared if the range holds its end. Does not take pages from the dirty log, nor does the log from
// it.
absl::StatusOr<HarvestedPages> HarvestReferenceChange(Partition& partition, uint64_t base,
                                                      uint64_t bytes, size_t max_runs,
                                                      mmu::ReferenceHarvest::Clear clear);
// 16 GB: some tenths of a second if all are mapped.
inline constexpr uint64_t kMaxRangePages = uint64_t{1} << 22;

struct RemovedMappings {
  uint64_t removed = 0;  // entries
  bool more = false;     // the range goes on from `next`
  uint64_t next = 0;     // address
};

// Removes every entry that maps any page of a range, bolted ones and large pages that overlap it
// too, each as H_REMOVE does. Looks at kMaxRangePages pages at most. An entry that is made
// meanwhile may remain: who unplugs memory stops the guest from using it first.
absl::StatusOr<RemovedMappings> RemoveMappings(Partition& partition, uint64_t base, uint64_t bytes);

}  // namespace papr::hcall

#endif  // HCALL_GUEST_PAGES_H_
