#include "hcall/htab_export.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hcall/entry_ops.h"

namespace papr::hcall {
namespace {

using Kind = HashPageTable::ObserverKind;

// Steps under one guard, some 25 us of them: what changes the structure of the table need not wait
// long for an export.
constexpr int kStepsPerGuard = 1024;
// Entries that one step passes over: in a part of the table that was never used, and by their
// marks. The second costs about as much as 32 other steps.
constexpr uint64_t kUntouchedPerStep = uint64_t{1} << 20;
constexpr uint64_t kMarksPerStep = 1024;
constexpr int kSkipSteps = 32;

}  // namespace

absl::StatusOr<std::unique_ptr<HtabExport>> HtabExport::Open(Partition& partition,
                                                             const Options& options) {
  auto opened = std::unique_ptr<HtabExport>(new HtabExport(partition, options));
  if (partition.config().mmu == MmuKind::kRadix) return opened;
  const Quiescence::Exclusive guard(partition.quiescence());
  HashPageTable& table = partition.table();
  if (table.order() > mmu::kHtabMaxOrder) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "a table of order %d cannot be exported: the format numbers entries with 32 bits, up to "
        "order %d",
        table.order(), mmu::kHtabMaxOrder));
  }
  opened->marks_ = partition.export_marks().lock();
  if (opened->marks_ == nullptr) {
    auto marks = mmu::ExportMarks::Create(table.entry_count());
    if (!marks.ok()) return marks.status();
    opened->marks_ = *std::move(marks);
    partition.export_marks() = opened->marks_;
    table.SetObserver(Kind::kExport, opened->marks_.get());
  }
  opened->generation_ = partition.table_generation();
  opened->position_ = std::min(options.start_index, table.entry_count());
  return opened;
}

HtabExport::~HtabExport() {
  if (marks_ == nullptr) return;
  // The marks change hands only under this guard, so that the last export knows that it is.
  const Quiescence::Exclusive guard(partition_.quiescence());
  const bool of_this_table = partition_.export_marks().lock() == marks_;
  if (of_this_table && marks_.use_count() == 1) {
    partition_.table().SetObserver(Kind::kExport, nullptr);
  }
  marks_.reset();
}

absl::StatusOr<HtabExport::ReadResult> HtabExport::Read(std::span<char> buffer) {
  const bool first_pass = first_pass_;
  Reading reading;
  reading.buffer = buffer;
  if (marks_ == nullptr) {
    first_pass_ = false;
    return ReadResult{0, first_pass, true};
  }
  while (reading.next != Step::kDone) {
    const Quiescence::Shared guard(partition_.quiescence());
    if (partition_.table_generation() != generation_) {
      return absl::AbortedError(
          "the table was reset or resized while it was exported; what was read is void: close this "
          "export and open another");
    }
    for (int steps = 0; steps < kStepsPerGuard && reading.next != Step::kDone; ++steps) {
      if (reading.next == Step::kSkip) steps += kSkipSteps;
      reading.next = DoStep(reading);
    }
  }
  return ReadResult{reading.bytes, first_pass, reading.end_of_table};
}

HtabExport::Step HtabExport::DoStep(Reading& reading) {
  switch (reading.next) {
    case Step::kRecord:
      return BeginRecord(reading);
    case Step::kSkip:
      return SkipClean(reading);
    case Step::kValid:
      return TakeValid(reading);
    case Step::kInvalid:
      return TakeInvalid(reading);
    case Step::kRecordEnd:
      return EndRecord(reading);
    case Step::kDone:
      break;
  }
  return Step::kDone;
}

HtabExport::Step HtabExport::BeginRecord(Reading& reading) {
  constexpr size_t kLeast = mmu::kHtabHeaderBytes + mmu::kHtabEntryBytes;
  if (reading.bytes + kLeast >= reading.buffer.size()) return Step::kDone;
  reading.record_start = reading.bytes;
  reading.bytes += mmu::kHtabHeaderBytes;
  reading.header = {static_cast<uint32_t>(position_), 0, 0};
  return first_pass_ ? Step::kValid : Step::kSkip;
}

// Goes on to the next dirty entry, or to the end of the table.
HtabExport::Step HtabExport::SkipClean(Reading& reading) {
  const uint64_t untouched_limit = std::min(end(), position_ + kUntouchedPerStep);
  position_ = partition_.table().NextTouched(position_, untouched_limit);
  bool found = false;
  if (position_ < untouched_limit) {
    // Not beyond the touched run: to look at marks elsewhere would take memory.
    const uint64_t limit = std::min(end(), (position_ | (kMarksPerStep - 1)) + 1);
    position_ = marks_->NextDirty(position_, limit);
    found = position_ < limit;
  }
  if (!found && position_ < end()) return Step::kSkip;
  reading.header.index = static_cast<uint32_t>(position_);
  return Step::kValid;
}

bool HtabExport::CountsAsValid(uint64_t v) const {
  return (v & mmu::kVValid) != 0 && (!options_.bolted_only || (v & mmu::kVBolted) != 0);
}

HtabExport::Step HtabExport::TakeValid(Reading& reading) {
  if (position_ >= end() || reading.header.n_valid == mmu::kHtabMaxRun ||
      reading.bytes + mmu::kHtabEntryBytes >= reading.buffer.size()) {
    return Step::kInvalid;
  }
  HashPageTable& table = partition_.table();
  // To look at an entry that was never used would take memory.
  const bool may_be_wanted = first_pass_ ? table.NextTouched(position_, position_ + 1) == position_
                                         : marks_->dirty(position_);
  if (!may_be_wanted) return Step::kInvalid;
  if (!CountsAsValid(table.PeekV(position_))) return Step::kInvalid;
  const HashPageTable::LockedEntry entry = table.Lock(position_);
  if (!CountsAsValid(entry.v())) return Step::kInvalid;
  if (!first_pass_ && !marks_->dirty(position_)) return Step::kInvalid;
  marks_->Clear(position_);
  const uint64_t v =
      (entry.v() & ~mmu::kVHypervisor) | (options_.kvm_exact ? mmu::kVSoftwareDirty : 0);
  mmu::EncodeHtabEntry({v, entry.r()}, &reading.buffer[reading.bytes]);
  reading.bytes += mmu::kHtabEntryBytes;
  ++reading.header.n_valid;
  ++position_;
  return Step::kValid;
}

HtabExport::Step HtabExport::TakeInvalid(Reading& reading) {
  HashPageTable& table = partition_.table();
  if (first_pass_) {
    // What was never used is empty. An entry stored there meanwhile is marked, for the next pass.
    const uint64_t room = mmu::kHtabMaxRun - reading.header.n_invalid;
    const uint64_t next = table.NextTouched(position_, std::min(end(), position_ + room));
    reading.header.n_invalid += static_cast<uint16_t>(next - position_);
    position_ = next;
  }
  if (position_ >= end() || reading.header.n_invalid == mmu::kHtabMaxRun) return Step::kRecordEnd;
  if (CountsAsValid(table.PeekV(position_))) return Step::kRecordEnd;
  if (marks_->dirty(position_)) {
    const HashPageTable::LockedEntry entry = table.Lock(position_);
    if (CountsAsValid(entry.v())) return Step::kRecordEnd;
    if (!first_pass_ && !marks_->dirty(position_)) return Step::kRecordEnd;
    marks_->Clear(position_);
  } else if (!first_pass_) {
    return Step::kRecordEnd;
  }
  ++reading.header.n_invalid;
  ++position_;
  return Step::kInvalid;
}

HtabExport::Step HtabExport::EndRecord(Reading& reading) {
  if (reading.header.n_valid == 0 && reading.header.n_invalid == 0) {
    reading.bytes = reading.record_start;
  } else {
    mmu::EncodeHtabHeader(reading.header, options_.header_order,
                          &reading.buffer[reading.record_start]);
  }
  if (position_ < end()) return Step::kRecord;
  position_ = 0;
  first_pass_ = false;
  reading.end_of_table = true;
  return Step::kDone;
}

}  // namespace papr::hcall
