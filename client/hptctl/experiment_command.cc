// hptctl experiment: what was measured elsewhere, measured here.

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/interrupt.h"
#include "client/machine.h"
#include "client/workload/slot_tracking.h"

namespace papr::client::hptctl {
namespace {

using Clock = std::chrono::steady_clock;
using guest::SlotMode;

constexpr std::chrono::seconds kProgressInterval{2};

constexpr char kAllModes[] = "all";

struct SlotTrackingArguments {
  SlotTrackingOptions options;
  std::string mode = kAllModes;
  std::string page_size = "64K";
  std::string platform = "pseries";
  std::string transport;  // empty: what the target has
};

const std::map<std::string, std::vector<SlotMode>>& Modes() {
  static const auto& modes = *new std::map<std::string, std::vector<SlotMode>>{
      {"slot", {SlotMode::kSlot}},
      {"find", {SlotMode::kFind}},
      {"hash", {SlotMode::kHash}},
      {kAllModes, {SlotMode::kSlot, SlotMode::kFind, SlotMode::kHash}}};
  return modes;
}

// Bare metal and partitions of this process have no transport.
absl::StatusOr<Transport> ChooseTransport(const std::string& asked, bool local) {
  if (local) {
    if (asked.empty() || asked == "local") return Transport::kLocal;
    return absl::InvalidArgumentError(
        absl::StrCat("--transport ", asked, " needs a daemon: give --target HOST:PORT"));
  }
  if (asked.empty() || asked == "unary") return Transport::kUnary;
  if (asked == "batch") return Transport::kBatch;
  return absl::InvalidArgumentError("--transport local needs --target local");
}

absl::StatusOr<SlotTrackingOptions> Resolve(const Context& context,
                                            const SlotTrackingArguments& arguments) {
  SlotTrackingOptions options = arguments.options;
  options.modes = Modes().at(arguments.mode);
  options.page_shift = arguments.page_size == "4K" ? mmu::k4K : mmu::k64K;
  const bool powernv = arguments.platform == "powernv";
  options.platform = powernv ? GuestPlatform::kPowernv : GuestPlatform::kPseries;
  if (powernv && arguments.mode != kAllModes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--mode ", arguments.mode,
                     " needs --platform pseries: bare metal reaches its "
                     "HPTEs in one way only"));
  }
  absl::StatusOr<Transport> transport =
      ChooseTransport(arguments.transport, powernv || context.target == kLocalTarget);
  if (!transport.ok()) return transport.status();
  options.transport = *transport;
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return options;
}

nlohmann::ordered_json ToJson(const SlotTrackingRow& row) {
  nlohmann::ordered_json json = {{"platform", row.platform},
                                 {"mode", row.mode},
                                 {"transport", row.transport},
                                 {"page_size", row.page_size},
                                 {"pages", row.pages},
                                 {"iterations", row.iterations},
                                 {"clear_pages", row.clear_pages},
                                 {"seconds", row.seconds},
                                 {"round_trips", row.round_trips},
                                 {"hcalls", row.hcalls},
                                 {"hcalls_per_iteration", row.hcalls_per_iteration},
                                 {"hcalls_per_page", row.hcalls_per_page}};
  if (row.reads_per_find) json["reads_per_find"] = *row.reads_per_find;
  if (row.ratio_to_first) {
    json["ratio_to_first"] = {{"median", row.ratio_to_first->median},
                              {"low", row.ratio_to_first->low},
                              {"high", row.ratio_to_first->high},
                              {"pairs", row.ratio_to_first->pairs}};
  }
  return json;
}

std::string HcallsByName(const SlotTrackingRow& row) {
  return absl::StrJoin(row.hcalls, ", ", [](std::string* out, const auto& call) {
    absl::StrAppend(out, call.first, " ", call.second);
  });
}

// All digits of a count; of a mean that is none, three decimals.
std::string CountText(double count) {
  return absl::StrFormat("%.*f", count == std::floor(count) ? 0 : 3, count);
}

void PrintText(const SlotTrackingOptions& options, const std::vector<SlotTrackingRow>& rows) {
  absl::PrintF("%d MB in pages of %d bytes, %d iterations, HPT of order %d, transport %s\n",
               options.megabytes, rows.front().page_size, options.iterations, options.hpt_order,
               rows.front().transport);
  absl::PrintF("%-14s %10s %12s %13s %11s %10s  %-22s %s\n", "mode", "seconds", "round trips",
               "hcalls/iter", "hcalls/page", "reads/find", "time ratio [95 %]", "hcalls");
  for (const SlotTrackingRow& row : rows) {
    const std::string mode = row.clear_pages ? row.mode + "+clear" : row.mode;
    const std::string reads =
        row.reads_per_find ? absl::StrFormat("%.3f", *row.reads_per_find) : "-";
    std::string ratio = "-";
    if (row.ratio_to_first) {
      ratio = absl::StrFormat("%.3f [%.3f, %.3f]", row.ratio_to_first->median,
                              row.ratio_to_first->low, row.ratio_to_first->high);
    }
    absl::PrintF("%-14s %10.3f %12d %13s %11.6g %10s  %-22s %s\n", mode, row.seconds,
                 row.round_trips, CountText(row.hcalls_per_iteration), row.hcalls_per_page, reads,
                 ratio, row.hcalls.empty() ? "-" : HcallsByName(row));
  }
}

int SlotTracking(const Context& context, const SlotTrackingArguments& arguments) {
  absl::StatusOr<SlotTrackingOptions> options = Resolve(context, arguments);
  if (!options.ok()) return FailUsage(std::string(options.status().message()));

  Clock::time_point last_progress = Clock::now();
  options->progress = [&](int rounds) {
    if (Clock::now() - last_progress < kProgressInterval) return;
    last_progress = Clock::now();
    absl::FPrintF(stderr, "slot-tracking: %d of %d iterations\n", rounds, options->iterations);
  };
  CatchInterrupts();
  options->cancelled = Interrupted;
  std::unique_ptr<Machine> machine;
  if (options->platform == GuestPlatform::kPseries) {
    absl::StatusOr<std::unique_ptr<Machine>> created = CreateMachine(
        context.target, absl::StrCat("slot-tracking-", getpid()), SlotTrackingPartition(*options));
    if (!created.ok()) return Fail(created.status());
    machine = *std::move(created);
  }
  absl::StatusOr<std::vector<SlotTrackingRow>> rows = RunSlotTracking(*options, machine.get());
  machine.reset();  // before anything is written: a reader that is gone ends the process
  if (!rows.ok()) return Fail(rows.status());
  if (context.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const SlotTrackingRow& row : *rows) all.push_back(ToJson(row));
    PrintJson({{"experiment", "slot-tracking"},
               {"megabytes", options->megabytes},
               {"hpt_order", options->hpt_order},
               {"offset_pages", options->offset_pages},
               {"seed", options->seed},
               {"rows", std::move(all)}});
  } else {
    PrintText(*options, *rows);
  }
  return kExitOk;
}

void AddSlotTracking(CLI::App* group, Context* context) {
  auto arguments = std::make_shared<SlotTrackingArguments>();
  SlotTrackingOptions& options = arguments->options;
  CLI::App* command = group->add_subcommand(
      "slot-tracking", "What it costs a guest not to remember where its HPTEs are");
  command->fallthrough();
  command->add_option("--iterations", options.iterations, "Times each mode maps, touches, unmaps")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--megabytes", options.megabytes, "Size of the mapping")
      ->capture_default_str();
  command->add_option("--page-size", arguments->page_size, "Of the guest's kernel")
      ->check(CLI::IsMember({"4K", "64K"}))
      ->capture_default_str();
  command
      ->add_option("--mode", arguments->mode,
                   "slot: remembers slots; find: searches by H_READ; hash: the H_HASH_* calls")
      ->check(CLI::IsMember({"slot", "find", "hash", kAllModes}))
      ->capture_default_str();
  command
      ->add_option("--platform", arguments->platform,
                   "pseries: by hcalls; powernv: bare metal, in this process, without hcalls")
      ->check(CLI::IsMember({"pseries", "powernv"}))
      ->capture_default_str();
  command
      ->add_option("--transport", arguments->transport,
                   "unary (default): every hcall an RPC; batch: the removals of one flush in one "
                   "RPC, all else by itself; local with --target local")
      ->check(CLI::IsMember({"local", "unary", "batch"}));
  command->add_option("--hpt-order", options.hpt_order, "log2 of the HPT's bytes")
      ->capture_default_str();
  command
      ->add_option("--offset-pages", options.offset_pages,
                   "Shift the mapping by so many pages from a multiple of 16 MB")
      ->capture_default_str();
  command->add_flag("--clear-pages", options.clear_pages,
                    "Also run each mode with the page cleared at its touch, in rows of its own");
  command->add_option("--seed", options.seed, "Of evictions and of the ratio's interval")
      ->capture_default_str();
  command->footer(
      "\nThe modes take turns (A B B A). Counts are exact; the time ratio is the median over pairs "
      "of\n"
      "turns against the first row, with a 95 % bootstrap interval, from 11 iterations on. On\n"
      "--target local one iteration runs first, untimed and uncounted.\n"
      "\nExamples:\n"
      "  hptctl experiment slot-tracking --iterations 20 --target local\n"
      "  hptctl experiment slot-tracking --mode find --transport batch --json");
  command->callback([context, arguments] {
    context->local_allowed = true;
    context->action = [context, arguments] { return SlotTracking(*context, *arguments); };
  });
}

}  // namespace

void AddExperimentCommand(CLI::App* app, Context* context) {
  CLI::App* group = app->add_subcommand("experiment", "Run an experiment");
  group->fallthrough();
  group->require_subcommand(1);
  AddSlotTracking(group, context);
}

}  // namespace papr::client::hptctl
