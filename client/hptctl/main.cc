// hptctl: partitions, hcalls, replays and experiments from the command line.

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "client/hptctl/commands.h"
#include "client/hptctl/context.h"

namespace papr::client::hptctl {
namespace {

constexpr char kFooter[] = R"(
Examples:
  hptctl partition create lpar1 --order 24 --ram 0:1G
  hptctl hcall H_ENTER 0 0x1000 0x123456789001 0x1000196 --partition lpar1
  hptctl dump --partition lpar1
  hptctl export lpar1 --output lpar1.htab
  hptctl replay boot.trace.zst --target local
  hptctl conformance --target local

Exit codes:
  0  done; for questions, the answer is yes
  1  the answer is no: mismatches, faults, a return code other than H_SUCCESS, not serving
  2  the command line makes no sense
  3  the daemon cannot be reached or did not answer in time
  4  the daemon refused the request, or a file (or the output) cannot be read or written
  128 + N  stopped by signal N; a replay or an experiment has deleted its partition

Results go to standard output, errors and progress to standard error, always as text. With --json
standard output is one complete document, or nothing if the command failed before it had one.)";

// Prints help, version or what is wrong with the command line.
int ExitOf(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
      app.get_subcommands().empty() && app.remaining_size() > 0) {
    return FailUsage("there is no command \"" + app.remaining().front() + "\"");
  }
  return app.exit(error) == 0 ? kExitOk : kExitUsage;
}

int Main(int argc, char** argv) {
  // Standard output is for results.
  spdlog::set_default_logger(spdlog::stderr_color_mt("hptctl"));

  Context context;
  CLI::App app("hptctl: the guest's and the operator's side of hptd", "hptctl");
  app.set_version_flag("--version", HPTCTL_VERSION);
  app.add_option("--target", context.target,
                 "The daemon: HOST:PORT, unix:/PATH, or local (in this process; replay, "
                 "conformance and experiment only)")
      ->envname("HPTD_TARGET")
      ->capture_default_str();
  app.add_flag("--json", context.json, "Print one JSON document instead of text");
  app.require_subcommand(1);
  app.fallthrough();  // global options may stand after the subcommand
  app.footer(kFooter);

  AddPartitionCommand(&app, &context);
  AddHealthCommand(&app, &context);
  AddHcallCommand(&app, &context);
  AddDumpCommand(&app, &context);
  AddCheckCommand(&app, &context);
  AddDirtyCommand(&app, &context);
  AddMappingsCommand(&app, &context);
  AddHarvestCommand(&app, &context);
  AddUnmapCommand(&app, &context);
  AddExportCommand(&app, &context);
  AddImportCommand(&app, &context);
  AddReplayCommand(&app, &context);
  AddConformanceCommand(&app, &context);
  AddExperimentCommand(&app, &context);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return FinishOutput(ExitOf(app, error));
  }
  return CheckTarget(context) ? FinishOutput(context.action()) : kExitUsage;
}

}  // namespace
}  // namespace papr::client::hptctl

int main(int argc, char** argv) { return papr::client::hptctl::Main(argc, argv); }
