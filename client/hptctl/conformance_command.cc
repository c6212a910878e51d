// hptctl conformance: the conformance vectors against hptd or, through an adapter, anything else.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
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
  bool verbose = false;
};

// What the vectors are run on: hptd, this process, or an adapter.
class Subject {
 public:
  static absl::StatusOr<Subject> Open(const Context& context, const std::string& adapter) {
    Subject subject(context);
    if (adapter.empty()) return subject;
    absl::StatusOr<std::unique_ptr<conformance::Adapter>> started =
        conformance::Adapter::Start(adapter);
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
    absl::StatusOr<std::unique_ptr<Machine>> machine =
        adapter_ ? adapter_->CreateMachine(test_case.spec)
                 : CreateMachine(context_->target, absl::StrCat("conformance-", getpid()),
                                 test_case.config);
    if (absl::IsUnavailable(machine.status()) || absl::IsDeadlineExceeded(machine.status())) {
      lost_ = machine.status();
    }
    return machine;
  }

  // Not OK once the subject could not be reached: no further case can be run.
  const absl::Status& lost() const { return lost_; }
  int Lost(const absl::Status& status) const {
    if (!adapter_) return Fail(status);
    absl::FPrintF(stderr, "hptctl: %s\n", status.message());
    return kExitTransport;
  }

 private:
  explicit Subject(const Context& context) : context_(&context) {}

  const Context* context_;
  std::unique_ptr<conformance::Adapter> adapter_;
  absl::Status lost_;
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
    columns.push_back(*column);
  }
  return columns;
}

absl::StatusOr<SuiteReport> RunColumn(const std::vector<conformance::ScriptFile>& files,
                                      Column column, const ConformanceArguments& arguments,
                                      const Context& context, Subject* subject) {
  Progress progress;
  conformance::SuiteOptions options;
  options.cancelled = [&] { return Interrupted() || !subject->lost().ok(); };
  options.progress = [&](const CaseOutcome& outcome) {
    if (!subject->lost().ok()) return;
    if (!context.json) absl::PrintF("%s", CaseText(outcome, column, arguments.verbose));
    std::fflush(stdout);
    progress.Count(outcome, column);
  };
  absl::StatusOr<SuiteReport> report = conformance::RunSuite(
      files, column, [&](const Case& each) { return subject->Make(each); }, options);
  if (!subject->lost().ok()) return subject->lost();
  if (report.ok() && !context.json) absl::PrintF("%s", SummaryText(*report));
  return report;
}

int Run(const Context& context, const ConformanceArguments& arguments) {
  absl::StatusOr<std::vector<conformance::ScriptFile>> files =
      arguments.files.empty() ? conformance::BuiltInScripts()
                              : conformance::ReadScripts(arguments.files);
  if (!files.ok()) return Fail(files.status());
  CatchInterrupts();
  absl::StatusOr<Subject> subject = Subject::Open(context, arguments.adapter);
  if (!subject.ok()) {
    absl::FPrintF(stderr, "hptctl: %s\n", subject.status().message());
    return kExitTransport;
  }
  absl::StatusOr<std::vector<Column>> columns = ColumnsToRun(arguments, *subject);
  if (!columns.ok()) return FailUsage(std::string(columns.status().message()));
  std::vector<SuiteReport> reports;
  bool failed = false;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Column column : *columns) {
    absl::StatusOr<SuiteReport> report = RunColumn(*files, column, arguments, context, &*subject);
    if (!report.ok()) return subject->Lost(report.status());
    failed = failed || report->failed() > 0;
    runs.push_back(SuiteJson(*report));
    reports.push_back(*std::move(report));
  }
  if (!arguments.junit.empty()) {
    if (absl::Status status = WriteJUnit(arguments.junit, reports); !status.ok()) {
      return Fail(status);
    }
  }
  if (context.json) PrintJson({{"target", subject->name()}, {"runs", std::move(runs)}});
  return failed ? kExitNo : kExitOk;
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
  command->add_option("--adapter", arguments->adapter,
                      "Run them on another implementation, through this program; a command line "
                      "for the shell");
  command->add_option("--junit", arguments->junit,
                      "Also write the outcome to this file, as JUnit XML");
  command->add_flag("--verbose", arguments->verbose,
                    "Also print the cases that pass, or are skipped");
  command->footer(
      "\nEvery case gets a partition of its own. A known defect of an implementation counts as "
      "passed;\n"
      "one that does not show, or any other difference, fails. tests/conformance/README.md tells "
      "how "
      "to\n"
      "hold another implementation against the vectors.\n"
      "\nExamples:\n"
      "  hptctl conformance --target local\n"
      "  hptctl conformance --profile kvm-hv my.hcalls --verbose\n"
      "  hptctl conformance --adapter build/release/bin/qemu_adapter --junit qemu.xml");
  command->callback([context, arguments] {
    // With an adapter there is no daemon that --target could name wrongly.
    if (!arguments->adapter.empty()) context->target = std::string(kLocalTarget);
    context->local_allowed = true;
    context->action = [context, arguments] { return Run(*context, *arguments); };
  });
}

}  // namespace papr::client::hptctl
