#include "client/workload/replay.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cancellable_hypervisor.h"
#include "client/workload/table_compare.h"

namespace papr::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTableBatch = 512;  // hcalls a round trip that enter or read a whole table
constexpr size_t kMaxPendingWalks = 1024;
constexpr uint64_t kRecordsPerClockRead = 256;
constexpr std::chrono::seconds kProgressInterval{2};

// An hcall to send and what it must return. A check of an entry is an H_READ, with its record's
// text.
struct Expectation {
  uint64_t line = 0;
  const char* check = nullptr;  // null: a recorded hcall
  hcall::TraceHcall call;
};

// H_READ at `ptex` that must return `hpte`; with `flags` kFlagRead4, four times the same.
Expectation ExpectEntry(uint64_t line, const char* check, uint64_t flags, uint64_t ptex,
                        const mmu::Hpte& hpte) {
  Expectation expectation;
  expectation.line = line;
  expectation.check = check;
  hcall::TraceHcall& call = expectation.call;
  call.opcode = hcall::kHRead;
  call.argument_count = 2;
  call.arguments[0] = flags;
  call.arguments[1] = ptex;
  call.output_count = (flags & hcall::kFlagRead4) != 0 ? 8 : 2;
  for (size_t i = 0; i < static_cast<size_t>(call.output_count); i += 2) {
    call.outputs[i] = hpte.v;
    call.outputs[i + 1] = hpte.r;
  }
  return expectation;
}

// True if everything came back: the code, the outputs, and no other register changed.
bool Matches(const hcall::TraceHcall& call, const hcall::HcallResult& result) {
  hcall::Registers expected = call.arguments;
  std::copy_n(call.outputs.begin(), call.output_count, expected.begin());
  return result.return_code == call.return_code && result.output_count == call.output_count &&
         result.registers == expected;
}

class Replayer {
 public:
  Replayer(Machine* machine, const ReplayInput& input, const ReplayOptions& options)
      : machine_(machine),
        input_(input),
        options_(options),
        hypervisor_(
            std::make_unique<CancellableHypervisor>(machine->MakeHypervisor(), options.cancelled)) {
    report_.trace = input.trace_path;
    report_.name = std::string(input.trace->header().Get("name"));
    report_.target = std::string(machine->target());
    report_.batch = std::max<size_t>(1, options.batch);
  }

  absl::StatusOr<ReplayReport> Run() {
    absl::StatusOr<hcall::PartitionConfig> config = input_.trace->header().ToPartitionConfig();
    if (!config.ok()) return config.status();
    profile_ = config->profile;
    report_.profile = std::string(hcall::ProfileName(profile_));
    if (absl::Status status = ReplayRecords(); !status.ok()) return Located(status);
    if (absl::Status status = CompareFinal(); !status.ok()) return status;
    report_.round_trips = hypervisor_->round_trips();
    report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return std::move(report_);
  }

 private:
  absl::Status ReplayRecords() {
    for (;;) {
      if (options_.cancelled && options_.cancelled()) return absl::CancelledError("interrupted");
      absl::StatusOr<std::optional<hcall::TraceRecord>> record = input_.trace->Next();
      if (!record.ok()) return record.status();
      if (!record->has_value()) break;
      line_ = input_.trace->line_number();
      const absl::Status status =
          std::visit([this](const auto& value) { return Take(value); }, **record);
      if (!status.ok()) return status;
      if (++report_.records % kRecordsPerClockRead == 0) ReportProgress();
    }
    return Flush();
  }

  // A: a table of this order exists and every entry is the ground.
  absl::Status Take(const hcall::TraceAllocate& record) {
    if (absl::Status status = Flush(); !status.ok()) return status;
    if (!allocated_) {
      absl::StatusOr<hcall::HptStatistics> now = machine_->GetStatistics();
      if (!now.ok()) return now.status();
      if (now->valid != 0) return absl::FailedPreconditionError("the partition is in use already");
      allocated_ = now->order == record.order;
    } else {
      ++report_.resets;
      allocated_ = false;
    }
    if (!allocated_) {
      if (absl::Status status = machine_->Reset(record.order); !status.ok()) return status;
      allocated_ = true;
    }
    freed_ = false;
    return Enqueue(
        ExpectEntry(line_, "entries of the new table", hcall::kFlagRead4, 0, record.ground));
  }

  // I: an entry of a guest that was running already.
  absl::Status Take(const hcall::TraceInitial& record) {
    if (absl::Status status = NeedTable(); !status.ok()) return status;
    ++report_.initial_entries;
    // An entry that is not valid reads as 0 in the guest's view, as the ground does.
    const bool valid = (record.hpte.v & mmu::kVValid) != 0;
    if (!valid && profile_ == hcall::Profile::kKvmHv) return absl::OkStatus();
    Expectation enter;
    enter.line = line_;
    enter.check = "initial entry";
    enter.call.opcode = hcall::kHEnter;
    enter.call.argument_count = 4;
    enter.call.arguments = {hcall::kFlagExact, record.ptex, record.hpte.v, record.hpte.r};
    enter.call.output_count = 1;
    enter.call.outputs = {record.ptex};
    return Enqueue(std::move(enter));
  }

  // F: the table is gone; an A follows.
  absl::Status Take(const hcall::TraceFree&) {
    if (absl::Status status = NeedTable(); !status.ok()) return status;
    freed_ = true;
    return Flush();
  }

  absl::Status Take(const hcall::TraceHcall& record) {
    if (absl::Status status = NeedTable(); !status.ok()) return status;
    ++report_.hcalls;
    return Enqueue({line_, nullptr, record});
  }

  absl::Status Take(const hcall::TraceEntry& record) {
    if (absl::Status status = NeedTable(); !status.ok()) return status;
    ++report_.entries_compared;
    return Enqueue(ExpectEntry(line_, "entry after H_PROTECT", 0, record.ptex, record.hpte));
  }

  absl::Status Take(const hcall::TraceWalk& record) {
    if (absl::Status status = NeedTable(); !status.ok()) return status;
    if (absl::Status status = FlushCalls(); !status.ok()) return status;
    ++report_.walks;
    walks_.push_back({record.ptex, !record.change, record.change});
    walk_lines_.push_back(line_);
    return walks_.size() < std::min(report_.batch, kMaxPendingWalks) ? absl::OkStatus()
                                                                     : FlushWalks();
  }

  absl::Status Take(const hcall::TracePrepared& record) {
    if (absl::Status status = Flush(); !status.ok()) return status;
    ++report_.preparations;
    const absl::Status finished =
        machine_->FinishResizePreparation(record.order, record.return_code);
    if (finished.ok()) return finished;
    if (!absl::IsFailedPrecondition(finished)) return finished;
    AddMismatch(line_, absl::StrCat("preparation of a table of order ", record.order), "pending",
                std::string(finished.message()));
    return absl::OkStatus();
  }

  absl::Status Take(const hcall::TraceCheckpoint& record) {
    if (absl::Status status = Flush(); !status.ok()) return status;
    ++report_.checkpoints;
    absl::StatusOr<hcall::HptStatistics> now = machine_->GetStatistics();
    if (!now.ok()) return now.status();
    if (now->valid != record.valid || now->digest != record.digest) {
      AddMismatch(line_, "checkpoint",
                  absl::StrFormat("%u valid entries, digest 0x%x", record.valid, record.digest),
                  absl::StrFormat("%u valid entries, digest 0x%x", now->valid, now->digest));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const hcall::TraceOther&) { return absl::OkStatus(); }
  absl::Status Take(const hcall::TraceMark&) { return absl::OkStatus(); }

  absl::Status NeedTable() const {
    if (allocated_ && !freed_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "the trace has no table at this record: an A must come first");
  }

  absl::Status Enqueue(Expectation expectation) {
    if (absl::Status status = FlushWalks(); !status.ok()) return status;
    // The table at the start is not what is recorded: it is always entered in large batches.
    const bool initial = expectation.call.opcode == hcall::kHEnter && expectation.check != nullptr;
    if (initial != pending_is_initial_) {
      if (absl::Status status = FlushCalls(); !status.ok()) return status;
      pending_is_initial_ = initial;
    }
    pending_.push_back(std::move(expectation));
    const size_t limit = initial ? std::max(kTableBatch, report_.batch) : report_.batch;
    return pending_.size() < limit ? absl::OkStatus() : FlushCalls();
  }

  absl::Status Flush() {
    if (absl::Status status = FlushCalls(); !status.ok()) return status;
    return FlushWalks();
  }

  // Sends what is pending and compares. At most one of calls and walks is ever pending.
  absl::Status FlushCalls() {
    if (pending_.empty()) return absl::OkStatus();
    if (absl::Status status = Send(); !status.ok()) return status;
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (!Matches(pending_[i].call, results_[i])) AddMismatch(pending_[i], results_[i]);
    }
    pending_.clear();
    return absl::OkStatus();
  }

  absl::Status Send() {
    requests_.resize(pending_.size());
    for (size_t i = 0; i < pending_.size(); ++i) {
      requests_[i].opcode = pending_[i].call.opcode;
      requests_[i].registers = pending_[i].call.arguments;
    }
    if (report_.batch > 1 || pending_is_initial_) {
      return hypervisor_->HcallBatch(requests_, hcall::BatchMode::kAll, &results_);
    }
    absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(requests_.front());
    if (!result.ok()) return result.status();
    results_.assign(1, *result);
    return absl::OkStatus();
  }

  absl::Status FlushWalks() {
    if (walks_.empty()) return absl::OkStatus();
    absl::Status status = machine_->SetReferenceChange(walks_);
    if (absl::IsFailedPrecondition(status) || absl::IsOutOfRange(status)) {
      status = WalkOneByOne();
    }
    walks_.clear();
    walk_lines_.clear();
    return status;
  }

  // Some update met an entry that is not there. Setting a bit twice changes nothing, so all are
  // made again, one by one, to find which.
  absl::Status WalkOneByOne() {
    for (size_t i = 0; i < walks_.size(); ++i) {
      const absl::Status status = machine_->SetReferenceChange({&walks_[i], 1});
      if (status.ok()) continue;
      if (!absl::IsFailedPrecondition(status) && !absl::IsOutOfRange(status)) return status;
      AddMismatch(walk_lines_[i],
                  absl::StrFormat("%s bit set by a table walk at 0x%x",
                                  walks_[i].changed ? "change" : "reference", walks_[i].ptex),
                  "a valid entry", std::string(status.message()));
    }
    return absl::OkStatus();
  }

  absl::Status CompareFinal() {
    if (input_.final_table == nullptr) return absl::OkStatus();
    const hcall::TraceFinal& expected = *input_.final_table;
    absl::StatusOr<hcall::HptStatistics> now = machine_->GetStatistics();
    if (!now.ok()) return now.status();
    report_.final_compared = true;
    if (now->order != expected.order) {
      AddFinalMismatch("order of the table", absl::StrCat(expected.order),
                       absl::StrCat(now->order));
      return absl::OkStatus();
    }
    if (now->valid != expected.valid) {
      AddFinalMismatch("valid entries", absl::StrCat(expected.valid), absl::StrCat(now->valid));
    }
    absl::StatusOr<uint64_t> compared =
        CompareTable(hypervisor_.get(), expected, std::max(kTableBatch, report_.batch),
                     [this](uint64_t ptex, const mmu::Hpte& want, const mmu::Hpte& got) {
                       AddFinalMismatch(absl::StrFormat("entry 0x%x", ptex), DescribeHpte(want),
                                        DescribeHpte(got));
                     });
    if (!compared.ok()) return compared.status();
    report_.final_entries = *compared;
    return absl::OkStatus();
  }

  void AddMismatch(const Expectation& expectation, const hcall::HcallResult& result) {
    const hcall::TraceHcall& call = expectation.call;
    std::string what = DescribeCall(call.opcode, call.arguments, call.argument_count);
    if (expectation.check != nullptr) what = absl::StrCat(expectation.check, ", ", what);
    AddMismatch(expectation.line, std::move(what),
                DescribeResult(call.return_code, call.outputs, call.output_count),
                DescribeResult(result.return_code, result.registers, result.output_count));
  }
  void AddMismatch(uint64_t line, std::string what, std::string expected, std::string got) {
    Add({input_.trace_path, line, std::move(what), std::move(expected), std::move(got)});
  }
  void AddFinalMismatch(std::string what, std::string expected, std::string got) {
    Add({input_.final_path, 0, std::move(what), std::move(expected), std::move(got)});
  }
  void Add(Mismatch mismatch) {
    ++report_.mismatches;
    if (report_.first.size() < options_.max_reported) report_.first.push_back(std::move(mismatch));
  }

  // `status` with the place in the trace.
  absl::Status Located(const absl::Status& status) const {
    return absl::Status(status.code(),
                        absl::StrCat(input_.trace_path, ", line ", line_, ": ", status.message()));
  }

  void ReportProgress() {
    if (!options_.progress) return;
    const Clock::time_point now = Clock::now();
    if (now - last_progress_ < kProgressInterval) return;
    last_progress_ = now;
    report_.seconds = std::chrono::duration<double>(now - start_).count();
    options_.progress(report_, input_.fraction ? input_.fraction() : 0);
  }

  Machine* const machine_;
  const ReplayInput& input_;
  const ReplayOptions& options_;
  const std::unique_ptr<Hypervisor> hypervisor_;
  hcall::Profile profile_ = hcall::Profile::kKvmHv;
  bool allocated_ = false;
  bool freed_ = false;
  uint64_t line_ = 0;

  std::vector<Expectation> pending_;
  bool pending_is_initial_ = false;
  std::vector<hcall::HcallRequest> requests_;
  std::vector<hcall::HcallResult> results_;
  std::vector<hcall::ReferenceChange> walks_;
  std::vector<uint64_t> walk_lines_;

  ReplayReport report_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_progress_ = start_;
};

}  // namespace

absl::StatusOr<ReplayReport> ReplayOn(Machine* machine, const ReplayInput& input,
                                      const ReplayOptions& options) {
  return Replayer(machine, input, options).Run();
}

}  // namespace papr::client
