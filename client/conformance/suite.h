// A run of scripts in one column: every case, what became of it, and the sums.

#ifndef CLIENT_CONFORMANCE_SUITE_H_
#define CLIENT_CONFORMANCE_SUITE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/conformance/column.h"
#include "client/conformance/runner.h"
#include "client/conformance/script.h"

namespace papr::conformance {

struct ScriptFile {
  std::string name;  // as messages have it
  std::string text;
};

// The scripts that `paths` name, in order; of a folder, those that end in ".hcalls", by name.
// NOT_FOUND: no such file, or a folder without scripts; FAILED_PRECONDITION: it cannot be read.
absl::StatusOr<std::vector<ScriptFile>> ReadScripts(const std::vector<std::string>& paths);

// The vectors of this version, built in.
const std::vector<ScriptFile>& BuiltInScripts();

struct CaseOutcome {
  std::string file;
  Case test_case;
  CaseReport report;
  double seconds = 0;

  bool failed() const { return !report.failures.empty(); }
  bool skipped() const { return report.skipped.has_value(); }
};

struct SuiteReport {
  Column column = Column::kPapr;
  std::vector<CaseOutcome> cases;              // in the order of the scripts
  std::map<std::string, std::string> defects;  // those the scripts declare -> what is wrong

  size_t passed() const { return cases.size() - failed() - skipped(); }
  size_t failed() const;
  size_t skipped() const;
  // In how many answers each known fault showed that an answer of these cases is marked with; 0:
  // all such cases were skipped.
  std::map<std::string, int> defects_seen() const;
};

struct SuiteOptions {
  // Which cases to run, by "FILE: NAME"; null: all.
  std::function<bool(const std::string&)> wanted;
  // Told of every case when it is done; may be null.
  std::function<void(const CaseOutcome&)> progress;
  // Asked before every case: is the run to stop? May be null.
  std::function<bool()> cancelled;
};

// INVALID_ARGUMENT: a script is malformed in one of `columns`.
absl::Status CheckScripts(const std::vector<ScriptFile>& files, const std::vector<Column>& columns);

// Runs the cases that `files` have in `column`. INVALID_ARGUMENT: a script is malformed, and
// nothing was run; CANCELLED, or CaseReport::lost.
absl::StatusOr<SuiteReport> RunSuite(const std::vector<ScriptFile>& files, Column column,
                                     MachineFactory make_machine, const SuiteOptions& options);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_SUITE_H_
