// Reads a partition's hashed page table as Linux's KVM_PPC_GET_HTAB_FD gives it: a first pass over
// every entry, then passes over what changed since, while hcalls go on. Each Read() is one read(2)
// of that file descriptor, byte for byte.
//
// Changes are recorded while at least one export of the partition is open, and all of them share
// the record: what one has reported another does not see.
//
// Threads: an export is for one thread at a time; any number may be open, and anything else may run
// on the partition meanwhile. An entry is read, and its mark taken, under its lock.

#ifndef HCALL_HTAB_EXPORT_H_
#define HCALL_HTAB_EXPORT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "hcall/partition.h"
#include "mmu/export_marks.h"
#include "mmu/htab_stream.h"

namespace papr::hcall {

class HtabExport {
 public:
  struct Options {
    bool bolted_only = false;  // valid entries that are not bolted count as not valid
    uint64_t start_index = 0;  // where the first pass begins; those before it are not covered
    bool kvm_exact = false;    // V with bit 0x40 set, as KVM writes it; else bits 0x60 are clear
    std::endian header_order = std::endian::little;
  };

  // What one read gave.
  struct ReadResult {
    size_t bytes = 0;           // of whole records
    bool first_pass = false;    // they belong to the first pass
    bool end_of_table = false;  // the pass is over; the next read begins the next pass at entry 0
  };

  // Opens an export of `partition`, which must outlive it. Waits for the hcalls in progress.
  // FAILED_PRECONDITION: the table is above order 36, and its entries have no number in the format.
  // RESOURCE_EXHAUSTED: the host's address space.
  static absl::StatusOr<std::unique_ptr<HtabExport>> Open(Partition& partition,
                                                          const Options& options);
  HtabExport(const HtabExport&) = delete;
  HtabExport& operator=(const HtabExport&) = delete;
  // Waits for the hcalls in progress.
  ~HtabExport();

  // Fills `buffer` with records as far as they fit. There must be room for more than an entry with
  // its header, 25 bytes or more, or nothing is given and nothing moves on. A read ends with the
  // table; one that finds nothing changed up to there gives 0 bytes. A radix partition has nothing.
  // ABORTED: the table was reset or resized since the export was opened.
  absl::StatusOr<ReadResult> Read(std::span<char> buffer);

 private:
  // What comes next in a read.
  enum class Step { kRecord, kSkip, kValid, kInvalid, kRecordEnd, kDone };
  struct Reading {
    std::span<char> buffer;
    size_t bytes = 0;         // written so far
    size_t record_start = 0;  // of the record in progress
    mmu::HtabHeader header;
    bool end_of_table = false;
    Step next = Step::kRecord;
  };

  HtabExport(Partition& partition, const Options& options)
      : partition_(partition), options_(options) {}

  // These require a guard of the partition, and its table to be that of `generation_`. Each returns
  // the next step: the same again if there is more of it.
  Step DoStep(Reading& reading);
  Step BeginRecord(Reading& reading);
  Step SkipClean(Reading& reading);
  Step TakeValid(Reading& reading);
  Step TakeInvalid(Reading& reading);
  Step EndRecord(Reading& reading);

  uint64_t end() const { return partition_.table().entry_count(); }
  // Whether an entry with this V goes among the valid ones.
  bool CountsAsValid(uint64_t v) const;

  Partition& partition_;
  const Options options_;
  uint64_t generation_ = 0;
  std::shared_ptr<mmu::ExportMarks> marks_;  // null for radix
  uint64_t position_ = 0;                    // entry that comes next
  bool first_pass_ = true;
};

}  // namespace papr::hcall

#endif  // HCALL_HTAB_EXPORT_H_
