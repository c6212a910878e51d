// hptctl dump: the entries of a partition's table, decoded.

#include <algorithm>
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
#include "client/hptctl/hpte_view.h"
#include "client/workload/table_compare.h"

namespace papr::client::hptctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadsPerRoundTrip = 1024;
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

// Prints entries as they come, as lines or as the elements of a JSON array.
class Printer {
 public:
  Printer(const Context& context, const AttachedPartition& partition)
      : json_(context.json), page_sizes_(partition.page_sizes) {
    if (!json_) {
      absl::PrintF("%s\n", HpteHeading());
      return;
    }
    const nlohmann::ordered_json name = partition.name;
    absl::PrintF("{\n\"partition\": %s,\n\"order\": %d,\n\"entries\": [", name.dump(),
                 partition.order);
  }
  void Print(uint64_t ptex, const mmu::Hpte& hpte) {
    const HpteView view = ViewHpte(ptex, hpte, page_sizes_);
    if (json_) {
      absl::PrintF("%s\n%s", count_ == 0 ? "" : ",", HpteJson(view).dump());
    } else {
      absl::PrintF("%s\n", HpteLine(view));
    }
    ++count_;
  }
  void Finish() const {
    if (json_) {
      absl::PrintF("\n]\n}\n");
    } else {
      absl::PrintF("%d entries\n", count_);
    }
  }

 private:
  const bool json_;
  const mmu::PageSizeTable& page_sizes_;
  uint64_t count_ = 0;
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

  Printer printer(context, *partition);
  Clock::time_point last_progress = Clock::now();
  const uint64_t end = range->first + range->count;
  const uint64_t first_read = range->first & ~uint64_t{3};
  const uint64_t last_read = (end + 3) & ~uint64_t{3};
  const absl::Status status = ReadTable(
      partition->hypervisor.get(), first_read, last_read - first_read, kReadsPerRoundTrip,
      [&](uint64_t ptex, const mmu::Hpte& hpte) {
        if (ptex < range->first || ptex >= end) return true;
        const bool valid = (hpte.v & mmu::kVValid) != 0;
        if (valid || options.all) printer.Print(ptex, hpte);
        if (ptex % (uint64_t{1} << 16) == 0 && Clock::now() - last_progress > kProgressInterval) {
          last_progress = Clock::now();
          absl::FPrintF(stderr, "read up to 0x%x of 0x%x\n", ptex, end - 1);
        }
        return true;
      });
  if (!status.ok()) return Fail(status);
  printer.Finish();
  return kExitOk;
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
      "\nExample:\n  hptctl dump --partition lpar1 --range 0x1000:0x1fff --json");
  command->callback([context, options] {
    context->action = [context, options] { return Dump(*context, *options); };
  });
}

}  // namespace papr::client::hptctl
