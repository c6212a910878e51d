// hptctl replay: recorded hcalls against a partition, everything compared.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/interrupt.h"
#include "client/workload/replay.h"

namespace papr::client::hptctl {
namespace {

struct ReplayArguments {
  std::vector<std::string> files;
  size_t batch = 256;
  size_t max_mismatches = 20;
  bool no_final = false;
};

nlohmann::ordered_json ToJson(const ReplayReport& report) {
  nlohmann::ordered_json mismatches = nlohmann::ordered_json::array();
  for (const Mismatch& mismatch : report.first) {
    mismatches.push_back({{"file", mismatch.file},
                          {"line", mismatch.line},
                          {"what", mismatch.what},
                          {"expected", mismatch.expected},
                          {"got", mismatch.got}});
  }
  return {{"file", report.trace},
          {"name", report.name},
          {"profile", report.profile},
          {"target", report.target},
          {"batch", report.batch},
          {"records", report.records},
          {"hcalls", report.hcalls},
          {"initial_entries", report.initial_entries},
          {"entries_compared", report.entries_compared},
          {"walks", report.walks},
          {"checkpoints", report.checkpoints},
          {"preparations", report.preparations},
          {"resets", report.resets},
          {"final_compared", report.final_compared},
          {"final_entries", report.final_entries},
          {"round_trips", report.round_trips},
          {"seconds", report.seconds},
          {"mismatches", report.mismatches},
          {"first_mismatches", std::move(mismatches)}};
}

void PrintText(const ReplayReport& report) {
  for (const Mismatch& mismatch : report.first) {
    absl::PrintF("%s\n", DescribeMismatch(mismatch));
  }
  if (report.first.size() < report.mismatches) {
    absl::PrintF("... and %d more mismatches\n", report.mismatches - report.first.size());
  }
  absl::PrintF("%s\n", DescribeReport(report));
  std::fflush(stdout);
}

// Replays all files, whatever becomes of each. The code of the first failure, else kExitNo if there
// was any mismatch.
int Replay(const Context& context, const ReplayArguments& arguments) {
  ReplayOptions options;
  options.batch = arguments.batch;
  options.final_required = !arguments.no_final;
  options.max_reported = arguments.max_mismatches;
  options.progress = [](const ReplayReport& report, double fraction) {
    absl::FPrintF(stderr, "%s: %d%%, %d hcalls, %d mismatches, %.0f s\n", report.name,
                  static_cast<int>(fraction * 100), report.hcalls, report.mismatches,
                  report.seconds);
  };
  CatchInterrupts();
  options.cancelled = Interrupted;
  int failed = kExitOk;
  bool mismatched = false;
  nlohmann::ordered_json replays = nlohmann::ordered_json::array();
  for (const std::string& file : arguments.files) {
    absl::StatusOr<ReplayReport> report = ReplayFile(file, context.target, options);
    if (!report.ok()) {
      const int code = Fail(report.status());
      if (failed == kExitOk) failed = code;
      if (Interrupted()) return code;
      if (code == kExitTransport) break;  // nor would the next file reach it
      continue;
    }
    mismatched = mismatched || report->mismatches > 0;
    if (context.json) {
      replays.push_back(ToJson(*report));
    } else {
      PrintText(*report);
    }
  }
  if (context.json) PrintJson({{"replays", std::move(replays)}});
  if (failed != kExitOk) return failed;
  return mismatched ? kExitNo : kExitOk;
}

}  // namespace

void AddReplayCommand(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app->add_subcommand(
      "replay", "Replay recorded hcalls and compare every result; exit code 1 on any mismatch");
  command->fallthrough();
  command->add_option("FILE", arguments->files, "NAME.trace.zst; NAME.final.zst stands beside it")
      ->required();
  command
      ->add_option(
          "--batch", arguments->batch,
          "Hcalls, or table walks, a round trip at most; 1: each by itself, hcalls as unary Hcall")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--max-mismatches", arguments->max_mismatches,
                   "How many mismatches to print; all are counted")
      ->capture_default_str();
  command->add_flag("--no-final", arguments->no_final,
                    "Also replay a trace that has no final table beside it");
  command->footer(
      "\nEach trace gets a partition of its own, as its header describes it, which is deleted in "
      "the\n"
      "end. Compared are return codes, output registers, entries, checkpoints, and the whole "
      "final\n"
      "table.\n"
      "\nExamples:\n"
      "  hptctl replay boot.trace.zst --target local\n"
      "  hptctl replay *.trace.zst --batch 1 --json");
  command->callback([context, arguments] {
    context->local_allowed = true;
    context->action = [context, arguments] { return Replay(*context, *arguments); };
  });
}

}  // namespace papr::client::hptctl
