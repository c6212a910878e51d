// Stores in a partition what a stream in the format of Linux's KVM_PPC_GET_HTAB_FD says of its
// table. Entries are checked and stored as H_ENTER with H_EXACT does.
//
// Hcalls of the partition wait while entries are stored, some hundred at a time; between those they
// go on. Each entry is one step; a record is not.
//
// For one thread.

#ifndef HCALL_HTAB_IMPORT_H_
#define HCALL_HTAB_IMPORT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hcall/partition.h"
#include "mmu/htab_stream.h"

namespace papr::hcall {

class HtabImport {
 public:
  struct Counts {
    uint64_t records = 0;  // applied as a whole
    uint64_t stored = 0;   // entries
    uint64_t removed = 0;  // valid entries that a record gives as not valid
  };

  // `partition` must outlive it.
  HtabImport(Partition& partition, std::endian header_order);

  // One write(2): applies the whole records at the beginning of `bytes`, in order, and returns how
  // many bytes they are; the rest is to come again with what follows it. An occupied slot is
  // emptied first. INVALID_ARGUMENT, the record named by its number from 1, and nothing of the
  // stream may be written any more: its entries are outside the table, V is not valid, the page
  // size is none of the partition's, or H_ENTER refuses the entry, whose slot then stays empty.
  // What was stored before stays. FAILED_PRECONDITION: a radix partition. ABORTED: the table was
  // reset or resized since the import began.
  absl::StatusOr<size_t> Write(std::string_view bytes);

  const Counts& counts() const { return counts_; }

 private:
  // A record being applied, and how many of its entries have been.
  struct InProgress {
    mmu::HtabRecord record;
    uint32_t valid_done = 0;
    uint32_t invalid_done = 0;
  };

  // These require the exclusive guard.
  absl::Status Check(const mmu::HtabHeader& header) const;
  // Does as much as `*budget` allows, and takes that off; true when the record is done.
  absl::StatusOr<bool> Apply(InProgress& work, int64_t* budget);
  absl::Status StoreEntry(uint64_t ptex, const mmu::Hpte& hpte);
  void RemoveEntries(uint64_t first, InProgress& work, int64_t* budget);
  absl::Status Refuse(std::string_view what) const;

  Partition& partition_;
  const std::endian header_order_;
  std::optional<uint64_t> generation_;
  Counts counts_;
};

}  // namespace papr::hcall

#endif  // HCALL_HTAB_IMPORT_H_
