// hptctl dump: the entries of a partition's table, decoded.

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/hptctl/attached_partition.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/entry_printer.h"
#include "client/partition_admin.h"
#include "client/workload/table_compare.h"

namespace papr::client::hptctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadsPerRoundTrip = 1024;
constexpr uint64_t kEntriesPerClockRead = 4096;
constexpr std::chrono::seconds kProgressInterval{2};

struct DumpOptions {
  std::string partition;
  std::string range;
  bool all = false;
};

struct Range {
  uint64_t first = 0;
  uint64_t count = 0;
};

// "FIRST:LAST" within the table, both included; everything if empty.
absl::StatusOr<Range> ParseRange(const std::string& text, int order) {
  const uint64_t entries = uint64_t{1} << (order - 4);
  if (text.empty()) return Range{0, entries};
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  absl::StatusOr<uint64_t> first = ParseNumber(parts.first);
  absl::StatusOr<uint64_t> last = ParseNumber(parts.second);
  if (!first.ok() || !last.ok() || *first > *last || *last >= entries) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--range must be FIRST:LAST, two ptexes up to 0x%x, not \"%s\"", entries - 1, text));
  }
  return Range{*first, *last - *first + 1};
}

// One reading of a range of the table. It ends with the range, or as soon as all entries that are
// valid have been met: a large table is mostly empty, and reading the rest would take longer than
// anybody waits.
class Reading {
 public:
  Reading(const AttachedPartition& partition, const DumpOptions& options, const Range& range,
          EntryPrinter* printer)
      : partition_(partition),
        all_(options.all),
        first_(range.first),
        end_(range.first + range.count),
        printer_(printer) {}

  absl::Status Run() {
    if (!all_) {
      if (absl::Status status = Count(); !status.ok()) return status;
      if (found_ == valid_) return absl::OkStatus();
    }
    const uint64_t first = first_ & ~uint64_t{3};
    const uint64_t end = (end_ + 3) & ~uint64_t{3};
    const absl::Status status =
        ReadTable(partition_.hypervisor.get(), first, end - first, kReadsPerRoundTrip,
                  [this](uint64_t ptex, const mmu::Hpte& hpte) { return Take(ptex, hpte); });
    return status.ok() ? count_status_ : status;
  }

 private:
  absl::Status Count() {
    absl::StatusOr<uint64_t> valid =
        PartitionAdmin(partition_.connection).CountValid(partition_.name);
    if (valid.ok()) valid_ = *valid;
    return valid.status();
  }

  // True if the reading goes on.
  bool Take(uint64_t ptex, const mmu::Hpte& hpte) {
    if (ptex < first_ || ptex >= end_) return true;
    if (ptex % kEntriesPerClockRead == 0) ReportProgress(ptex);
    const bool valid = (hpte.v & mmu::kVValid) != 0;
    if (valid || all_) printer_->Print(ptex, hpte);
    if (!printer_->ok()) return false;
    if (!valid) return true;
    ++found_;
    if (all_ || found_ < valid_) return true;
    // The guest may have entered more since they were counted.
    count_status_ = Count();
    return count_status_.ok() && found_ < valid_;
  }

  void ReportProgress(uint64_t ptex) {
    const Clock::time_point now = Clock::now();
    if (now - last_progress_ < kProgressInterval) return;
    last_progress_ = now;
    const auto percent = static_cast<int>(static_cast<double>(ptex - first_) * 100 /
                                          static_cast<double>(end_ - first_));
    const std::string found =
        all_ ? absl::StrCat(found_, " valid entries")
             : absl::StrCat(found_, " of the table's ", valid_, " valid entries");
    absl::FPrintF(stderr, "%s: %d%%, read up to 0x%x of 0x%x, %s\n", partition_.name, percent, ptex,
                  end_ - 1, found);
  }

  const AttachedPartition& partition_;
  const bool all_;
  const uint64_t first_;
  const uint64_t end_;
  EntryPrinter* const printer_;
  uint64_t valid_ = 0;  // of the whole table, when last asked
  uint64_t found_ = 0;
  absl::Status count_status_;
  Clock::time_point last_progress_ = Clock::now();
};

int Dump(const Context& context, const DumpOptions& options) {
  absl::StatusOr<AttachedPartition> partition = Attach(context, options.partition);
  if (!partition.ok()) return Fail(partition.status());
  if (partition->order == 0) {
    return Fail(absl::FailedPreconditionError(
        absl::StrCat("partition ", options.partition, " is a radix partition: it has no HPT")));
  }
  absl::StatusOr<Range> range = ParseRange(options.range, partition->order);
  if (!range.ok()) return FailUsage(std::string(range.status().message()));
  absl::StatusOr<EntryPrinter> printer = EntryPrinter::Open(context, *partition);
  if (!printer.ok()) return Fail(printer.status());
  absl::Status status = Reading(*partition, options, *range, &*printer).Run();
  if (status.ok()) status = printer->Finish();
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace

void AddDumpCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* command = app->add_subcommand("dump", "Print the valid entries of a table, decoded");
  command->fallthrough();
  command->add_option("--partition", options->partition, "The partition")->required();
  command->add_flag("--all", options->all, "Also the entries that are not valid");
  command->add_option("--range", options->range, "Only entries FIRST:LAST (ptex, both included)");
  command->footer(
      "\nColumns: place, the two words, virtual page number (4K units), segment, VSID, "
      "base/actual\n"
      "page size, real address, page protection, storage key, no-execute, reference and change,\n"
      "W I M G, flags. With --json, words and addresses are strings.\n"
      "\nEntries are read in ascending order until all that are valid have been met, so the time "
      "grows\n"
      "with the place of the last. --range reads only a part; progress is told on standard error.\n"
      "\nExample:\n  hptctl dump --partition lpar1 --range 0x1000:0x1fff --json");
  command->callback([context, options] {
    context->action = [context, options] { return Dump(*context, *options); };
  });
}

}  // namespace papr::client::hptctl
