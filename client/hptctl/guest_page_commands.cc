// hptctl dirty, mappings, harvest, unmap: the guest's pages of a partition that tracks them.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/attached_partition.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/hpte_view.h"
#include "client/hptctl/interrupt.h"
#include "client/partition_admin.h"
#include "hcall/partition_spec.h"

namespace papr::client::hptctl {
namespace {

namespace v1 = ::papr::mmu::v1;
using Json = nlohmann::ordered_json;

constexpr uint64_t kPageBytes = 4096;
// Where guest real addresses end.
constexpr uint64_t kAddressEnd = uint64_t{1} << 60;

struct PageOptions {
  std::string partition;
  std::string start = "0";
  std::string page;
  std::string base = "0";
  std::string size;
  bool keep = false;
  int max_mappings = 1000;
  std::optional<double> watch_seconds;
};

// An address or a size, a multiple of the page size: decimal, 0x, or with K M G T.
absl::StatusOr<uint64_t> ParsePages(const char* option, const std::string& text) {
  const absl::StatusOr<uint64_t> value = hcall::ParseBytes(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": '", text, "' is no number of bytes, as in 0x10000, 64K, 1G"));
  }
  if (*value % kPageBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", Hex(*value), " is no multiple of a page, 4096 bytes"));
  }
  return *value;
}

struct Range {
  uint64_t base = 0;
  uint64_t size = 0;
};

absl::StatusOr<Range> ParseRange(const PageOptions& options) {
  const absl::StatusOr<uint64_t> base = ParsePages("--base", options.base);
  if (!base.ok()) return base.status();
  if (*base >= kAddressEnd) {
    return absl::InvalidArgumentError("--base: addresses end at 2^60");
  }
  if (options.size.empty()) return Range{*base, kAddressEnd - *base};
  const absl::StatusOr<uint64_t> size = ParsePages("--size", options.size);
  if (!size.ok()) return size.status();
  if (*size == 0 || *size > kAddressEnd - *base) {
    return absl::InvalidArgumentError(
        "--size: the range is empty or ends beyond 2^60, where addresses end");
  }
  return Range{*base, *size};
}

template <typename Run>
uint64_t CountPages(const std::vector<Run>& runs) {
  uint64_t bytes = 0;
  for (const Run& run : runs) bytes += run.bytes();
  return bytes / kPageBytes;
}

std::string RunText(uint64_t address, uint64_t bytes) {
  return absl::StrFormat("0x%016x  %10d", address, bytes / kPageBytes);
}

std::string InRuns(uint64_t pages, size_t runs) {
  return absl::StrCat(pages, pages == 1 ? " page" : " pages", " in ", runs,
                      runs == 1 ? " run" : " runs");
}

int PrintDirty(const Context& context, const PageOptions& options,
               const std::vector<v1::PageRun>& runs) {
  const uint64_t pages = CountPages(runs);
  if (context.json) {
    Json list = Json::array();
    for (const v1::PageRun& run : runs) {
      list.push_back({{"address", Hex(run.address())}, {"bytes", run.bytes()}});
    }
    PrintJson({{"partition", options.partition},
               {"kept", options.keep},
               {"pages", pages},
               {"runs", std::move(list)}});
    return kExitOk;
  }
  if (!runs.empty()) absl::PrintF("address                  pages\n");
  for (const v1::PageRun& run : runs) {
    absl::PrintF("%s\n", RunText(run.address(), run.bytes()));
  }
  absl::PrintF("%s: %s changed\n", options.partition, InRuns(pages, runs.size()));
  return kExitOk;
}

// Asks every `seconds` until a signal comes or the daemon does not answer.
int Watch(PartitionAdmin* admin, const PageOptions& options, uint64_t start, double seconds) {
  CatchInterrupts();
  constexpr std::chrono::milliseconds kNap(50);
  while (!Interrupted()) {
    const auto runs = admin->GetDirtyPages(options.partition, start, options.keep);
    if (!runs.ok()) return Fail(runs.status());
    absl::PrintF("%s: %s changed\n", options.partition, InRuns(CountPages(*runs), runs->size()));
    std::fflush(stdout);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!Interrupted() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kNap);
    }
  }
  return kExitSignal + InterruptSignal();
}

int Dirty(const Context& context, const PageOptions& options) {
  const absl::StatusOr<uint64_t> start = ParsePages("--start", options.start);
  if (!start.ok()) return FailUsage(std::string(start.status().message()));
  if (context.json && options.watch_seconds.has_value()) {
    return FailUsage("--watch prints a line again and again, --json one document: choose one");
  }
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  PartitionAdmin admin(*connection);
  if (options.watch_seconds.has_value()) {
    return Watch(&admin, options, *start, *options.watch_seconds);
  }
  const auto runs = admin.GetDirtyPages(options.partition, *start, options.keep);
  return runs.ok() ? PrintDirty(context, options, *runs) : Fail(runs.status());
}

int Mappings(const Context& context, const PageOptions& options) {
  const absl::StatusOr<uint64_t> page = ParsePages("--page", options.page);
  if (!page.ok()) return FailUsage(std::string(page.status().message()));
  absl::StatusOr<AttachedPartition> partition = Attach(context, options.partition);
  if (!partition.ok()) return Fail(partition.status());
  const auto found = PartitionAdmin(partition->connection)
                         .ListMappings(options.partition, *page, options.max_mappings);
  if (!found.ok()) return Fail(found.status());
  Json entries = Json::array();
  if (!context.json && found->mappings_size() > 0) absl::PrintF("%s\n", HpteHeading());
  for (const v1::Mapping& mapping : found->mappings()) {
    const HpteView view =
        ViewHpte(mapping.ptex(), {mapping.v(), mapping.r()}, partition->page_sizes);
    if (context.json) {
      entries.push_back(HpteJson(view));
    } else {
      absl::PrintF("%s\n", HpteLine(view));
    }
  }
  if (context.json) {
    PrintJson({{"partition", options.partition},
               {"page", Hex(*page)},
               {"more", found->more()},
               {"entries", std::move(entries)}});
  } else {
    absl::PrintF("%s: %d%s entries map the page at %s\n", options.partition, found->mappings_size(),
                 found->more() ? " and more" : "", Hex(*page));
  }
  return kExitOk;
}

int Harvest(const Context& context, const PageOptions& options) {
  const absl::StatusOr<Range> range = ParseRange(options);
  if (!range.ok()) return FailUsage(std::string(range.status().message()));
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  const auto runs =
      PartitionAdmin(*connection)
          .HarvestReferenceChange(options.partition, range->base, range->size, options.keep);
  if (!runs.ok()) return Fail(runs.status());
  const uint64_t pages = CountPages(*runs);
  if (context.json) {
    Json list = Json::array();
    for (const v1::ReferenceRun& run : *runs) {
      list.push_back({{"address", Hex(run.address())},
                      {"bytes", run.bytes()},
                      {"referenced", run.referenced()},
                      {"changed", run.changed()}});
    }
    PrintJson({{"partition", options.partition},
               {"kept", options.keep},
               {"pages", pages},
               {"runs", std::move(list)}});
    return kExitOk;
  }
  if (!runs->empty()) absl::PrintF("address                  pages  use\n");
  for (const v1::ReferenceRun& run : *runs) {
    absl::PrintF("%s  %s%s\n", RunText(run.address(), run.bytes()), run.referenced() ? "R" : "-",
                 run.changed() ? "C" : "-");
  }
  absl::PrintF("%s: %s referenced or changed\n", options.partition, InRuns(pages, runs->size()));
  return kExitOk;
}

int Unmap(const Context& context, const PageOptions& options) {
  const absl::StatusOr<Range> range = ParseRange(options);
  if (!range.ok()) return FailUsage(std::string(range.status().message()));
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  const auto removed =
      PartitionAdmin(*connection).RemoveMappings(options.partition, range->base, range->size);
  if (!removed.ok()) return Fail(removed.status());
  if (context.json) {
    PrintJson({{"partition", options.partition}, {"removed", *removed}});
  } else {
    absl::PrintF("%s: %d entries removed\n", options.partition, *removed);
  }
  return kExitOk;
}

using Action = int (*)(const Context&, const PageOptions&);

// A subcommand with the options that all of these have.
CLI::App* Add(CLI::App* app, Context* context, const std::shared_ptr<PageOptions>& options,
              const char* name, const char* what, Action action) {
  CLI::App* command = app->add_subcommand(name, what);
  command->fallthrough();
  command->add_option("--partition", options->partition, "The partition, with track-guest-pages")
      ->required();
  command->callback([context, options, action] {
    context->action = [context, options, action] { return action(*context, *options); };
  });
  return command;
}

}  // namespace

void AddDirtyCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* command = Add(app, context, options, "dirty",
                          "Print the guest's pages that were changed since the last time", Dirty);
  command->add_option("--start", options->start, "Only pages from this address on")
      ->capture_default_str();
  command->add_flag("--keep", options->keep, "Only look: the next question tells them again");
  command->add_option("--watch", options->watch_seconds, "Count again every so many seconds")
      ->check(CLI::Range(0.1, 86400.0));
  command->footer(
      "\nPages are of 4 KB, at guest real addresses. A page that is told is told again when it\n"
      "changes again; what the guest sees of C stays.\n"
      "\nExamples:\n  hptctl partition create lpar1 --track-guest-pages\n"
      "  hptctl dirty --partition lpar1 --keep\n"
      "  hptctl dirty --partition lpar1 --watch 1");
}

void AddMappingsCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* command = Add(app, context, options, "mappings",
                          "Print the entries that map a page of the guest, decoded", Mappings);
  command->add_option("--page", options->page, "Guest real address of the page, 4 KB")->required();
  command->add_option("--max", options->max_mappings, "How many entries to list")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->footer(
      "\nEntries of larger pages that hold the page are among them. Columns: as hptctl dump.\n"
      "\nExample:\n  hptctl mappings --partition lpar1 --page 0x1000000");
}

void AddHarvestCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* command =
      Add(app, context, options, "harvest",
          "Print the guest's pages that were referenced or changed since the last time", Harvest);
  command->add_option("--base", options->base, "Where the range begins")->capture_default_str();
  command->add_option("--size", options->size, "Bytes of the range; default: all behind --base");
  command->add_flag("--keep", options->keep, "Only look: the next question tells them again");
  command->footer(
      "\nPages are of 4 KB, at guest real addresses. What the guest sees of R and C stays, and so\n"
      "does what hptctl dirty tells.\n"
      "\nExample:\n  hptctl harvest --partition lpar1 --base 0 --size 256M");
}

void AddUnmapCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* command = Add(app, context, options, "unmap",
                          "Remove all entries that map a range of the guest's memory", Unmap);
  command->add_option("--base", options->base, "Where the range begins")->required();
  command->add_option("--size", options->size, "Bytes of the range")->required();
  command->footer(
      "\nBolted entries go too, and large pages that overlap the range. The guest must have\n"
      "stopped using it: entries that are made meanwhile may remain.\n"
      "\nExample:\n  hptctl unmap --partition lpar1 --base 768M --size 256M");
}

}  // namespace papr::client::hptctl
