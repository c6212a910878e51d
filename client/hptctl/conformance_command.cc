// hptctl conformance: the conformance vectors against hptd or, through an adapter, anything else.

#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/conformance/adapter_machine.h"
#include "client/conformance/suite.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/conformance_report.h"
#include "client/hptctl/interrupt.h"
#include "client/machine.h"

namespace papr::client::hptctl {
namespace {

using conformance::Case;
using conformance::CaseOutcome;
using conformance::Column;
using conformance::SuiteReport;

constexpr auto kProgressEvery = std::chrono::seconds(2);

struct ConformanceArguments {
  std::vector<std::string> files;
  std::vector<std::string> profiles;
  std::string adapter;
  std::string junit;
  std::string filter;
  bool verbose = false;
};

// What the vectors are run on: hptd, this process, or an adapter.
class Subject {
 public:
  static absl::StatusOr<Subject> Open(const Context& context, const std::string& adapter) {
    Subject subject(context);
    if (adapter.empty()) return subject;
    absl::StatusOr<std::unique_ptr<conformance::Adapter>> started =
        conformance::Adapter::Start(adapter, Interrupted);
    if (!started.ok()) return started.status();
    subject.adapter_ = *std::move(started);
    return subject;
  }

  std::string name() const { return adapter_ ? adapter_->name() : context_->target; }

  // The columns to run if none is asked for.
  std::vector<Column> columns() const {
    if (adapter_) return {adapter_->column()};
    return {Column::kKvmHv, Column::kQemuTcg};
  }
  bool Serves(Column column) const {
    return adapter_ || column == Column::kKvmHv || column == Column::kQemuTcg;
  }

  absl::StatusOr<std::unique_ptr<Machine>> Make(const Case& test_case) {
    if (adapter_) return adapter_->CreateMachine(test_case.spec);
    return CreateMachine(context_->target, partition_, test_case.config);
  }

 private:
  explicit Subject(const Context& context) : context_(&context) {}

  const Context* context_;
  std::unique_ptr<conformance::Adapter> adapter_;
  // Of every case, one after the other; a run that was killed may have left its own behind.
  const std::string partition_ = absl::StrFormat("conformance-%08x", std::random_device{}());
};

// Tells now and then how far a run is.
class Progress {
 public:
  void Count(const CaseOutcome& outcome, Column column) {
    ++done_;
    if (outcome.failed()) ++failed_;
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < kProgressEvery) return;
    told_ = now;
    absl::FPrintF(stderr, "%s: %d cases, %d failed, at %s\n",
                  std::string(conformance::ColumnName(column)), done_, failed_, outcome.file);
  }

 private:
  int done_ = 0;
  int failed_ = 0;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

// Says what stopped the run. Fail() would tell how to start hptd.
int Stop(const absl::Status& status, bool adapter) {
  const bool transport = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!adapter || !transport) return Fail(status);
  absl::FPrintF(stderr, "hptctl: %s\n", status.message());
  return kExitTransport;
}

absl::StatusOr<std::vector<Column>> ColumnsToRun(const ConformanceArguments& arguments,
                                                 const Subject& subject) {
  if (arguments.profiles.empty()) return subject.columns();
  std::vector<Column> columns;
  for (const std::string& name : arguments.profiles) {
    const std::optional<Column> column = conformance::ColumnByName(name);
    if (!column) {
      return absl::InvalidArgumentError(
          absl::StrCat("--profile ", name,
                       ": there are papr, kvm-hv, qemu-tcg, and of implementations kvm, qemu"));
    }
    if (!subject.Serves(*column)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--profile ", name, ": hptd serves kvm-hv and qemu-tcg; the others are for --adapter"));
    }
    if (std::find(columns.begin(), columns.end(), *column) == columns.end()) {
      columns.push_back(*column);
    }
  }
  return columns;
}

absl::StatusOr<SuiteReport> RunColumn(const std::vector<conformance::ScriptFile>& files,
                                      Column column, const ConformanceArguments& arguments,
                                      const Context& context, Subject* subject) {
  Progress progress;
  conformance::SuiteOptions options;
  if (!arguments.filter.empty()) {
    const auto filter = std::make_shared<RE2>(arguments.filter, RE2::Quiet);
    options.wanted = [filter](const std::string& name) { return RE2::PartialMatch(name, *filter); };
  }
  options.cancelled = Interrupted;
  options.progress = [&](const CaseOutcome& outcome) {
    if (!context.json) absl::PrintF("%s", CaseText(outcome, column, arguments.verbose));
    std::fflush(stdout);
    progress.Count(outcome, column);
  };
  absl::StatusOr<SuiteReport> report = conformance::RunSuite(
      files, column, [&](const Case& each) { return subject->Make(each); }, options);
  if (report.ok() && !context.json) absl::PrintF("%s", SummaryText(*report));
  return report;
}

// Did anything differ, or was nothing to be seen?
int ExitCodeOf(const std::vector<SuiteReport>& reports) {
  size_t ran = 0;
  size_t failed = 0;
  size_t cases = 0;
  for (const SuiteReport& report : reports) {
    cases += report.cases.size();
    failed += report.failed();
    ran += report.failed() + report.passed();
  }
  if (cases == 0) return FailUsage("no case is left to run: see FILES, --profile and --filter");
  if (ran == 0) absl::FPrintF(stderr, "hptctl: every case was skipped\n");
  return failed > 0 || ran == 0 ? kExitNo : kExitOk;
}

int Run(const Context& context, const ConformanceArguments& arguments) {
  absl::StatusOr<std::vector<conformance::ScriptFile>> files =
      arguments.files.empty() ? conformance::BuiltInScripts()
                              : conformance::ReadScripts(arguments.files);
  if (!files.ok()) return Fail(files.status());
  absl::StatusOr<JUnitFile> junit = JUnitFile::Open(arguments.junit);
  if (!junit.ok()) return Fail(junit.status());
  CatchInterrupts();
  absl::StatusOr<Subject> subject = Subject::Open(context, arguments.adapter);
  if (!subject.ok()) return Stop(subject.status(), !arguments.adapter.empty());
  absl::StatusOr<std::vector<Column>> columns = ColumnsToRun(arguments, *subject);
  if (!columns.ok()) return FailUsage(std::string(columns.status().message()));
  if (absl::Status status = conformance::CheckScripts(*files, *columns); !status.ok()) {
    return Fail(status);
  }
  std::vector<SuiteReport> reports;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Column column : *columns) {
    absl::StatusOr<SuiteReport> report = RunColumn(*files, column, arguments, context, &*subject);
    if (!report.ok()) return Stop(report.status(), !arguments.adapter.empty());
    runs.push_back(SuiteJson(*report));
    reports.push_back(*std::move(report));
  }
  if (context.json) PrintJson({{"target", subject->name()}, {"runs", std::move(runs)}});
  if (absl::Status status = junit->Write(reports); !status.ok()) return Fail(status);
  return ExitCodeOf(reports);
}

// Empty, or what is wrong with a regular expression.
std::string CheckRegex(const std::string& text) {
  const RE2 regex(text, RE2::Quiet);
  if (regex.ok()) return "";
  return absl::StrCat("\"", text, "\" is no regular expression: ", regex.error());
}

}  // namespace

void AddConformanceCommand(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<ConformanceArguments>();
  CLI::App* command = app->add_subcommand(
      "conformance",
      "Run the conformance vectors and say what differs; exit code 1 if anything does");
  command->fallthrough();
  command->add_option("FILES", arguments->files,
                      "Scripts (*.hcalls) or folders of them; default: those built in");
  command
      ->add_option("--profile", arguments->profiles,
                   "Whose answers to expect: kvm-hv, qemu-tcg (default for hptd: both); with "
                   "--adapter also papr, kvm, qemu (default: what the adapter says)")
      ->allow_extra_args(false);
  command
      ->add_option("--adapter", arguments->adapter,
                   "Run them on another implementation, through this program; a command line "
                   "for the shell")
      ->check([](const std::string& value) {
        return std::string(value.empty() ? "an adapter needs a command" : "");
      });
  command
      ->add_option("--filter", arguments->filter,
                   "Only cases whose \"FILE: NAME\" this regular expression finds")
      ->check(CheckRegex);
  command->add_option("--junit", arguments->junit,
                      "Also write the outcome to this file, as JUnit XML");
  command->add_flag("--verbose", arguments->verbose,
                    "Also print the cases that pass, or are skipped");
  command->footer(R"(
Every case gets a partition of its own. A known defect of an implementation counts as passed; one
that does not show, or any other difference, fails. With --json every answer is printed, with the
arguments. tests/conformance/README.md tells how to hold another implementation against the
vectors.

Examples:
  hptctl conformance --target local
  hptctl conformance --profile kvm-hv my.hcalls --verbose
  hptctl conformance --adapter build/release/tests/qemu_adapter --junit qemu.xml)");
  command->callback([context, arguments] {
    // With an adapter there is no daemon that --target could name wrongly.
    if (!arguments->adapter.empty()) context->target = std::string(kLocalTarget);
    context->local_allowed = true;
    context->action = [context, arguments] { return Run(*context, *arguments); };
  });
}

}  // namespace papr::client::hptctl
