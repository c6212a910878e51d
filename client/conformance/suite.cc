#include "client/conformance/suite.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace papr::conformance {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<fs::path>> ScriptsIn(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".hcalls") paths.push_back(it->path());
  }
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat("no *.hcalls in ", folder.string()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<ScriptFile> ReadScript(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("no such file: ", path.string()));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot be read: ", path.string()));
  }
  return ScriptFile{path.string(), std::move(text)};
}

// All cases of all files, before the first of them is run.
absl::StatusOr<SuiteReport> ParseAll(const std::vector<ScriptFile>& files, Column column,
                                     const SuiteOptions& options) {
  SuiteReport report;
  report.column = column;
  for (const ScriptFile& file : files) {
    absl::StatusOr<Script> script = ParseScript(file.text, column);
    if (!script.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", script.status().message()));
    }
    report.defects.merge(script->defects);
    for (Case& each : script->cases) {
      if (options.wanted && !options.wanted(absl::StrCat(file.name, ": ", each.name))) continue;
      report.cases.push_back({file.name, std::move(each), {}, 0});
    }
  }
  return report;
}

// The known faults that answers of a case are marked with.
std::set<std::string> DefectsOf(const Case& test_case) {
  std::set<std::string> names;
  for (const Step& step : test_case.steps) {
    names.insert(step.defect);
    const auto* call = std::get_if<CallStep>(&step.action);
    if (call == nullptr) continue;
    for (const Expectation& each : call->expectations) names.insert(each.defect);
  }
  names.erase("");
  return names;
}

}  // namespace

absl::StatusOr<std::vector<ScriptFile>> ReadScripts(const std::vector<std::string>& paths) {
  std::vector<ScriptFile> files;
  for (const std::string& path : paths) {
    std::vector<fs::path> scripts = {path};
    if (std::error_code error; fs::is_directory(path, error)) {
      absl::StatusOr<std::vector<fs::path>> found = ScriptsIn(path);
      if (!found.ok()) return found.status();
      scripts = *std::move(found);
    }
    for (const fs::path& script : scripts) {
      absl::StatusOr<ScriptFile> file = ReadScript(script);
      if (!file.ok()) return file.status();
      files.push_back(*std::move(file));
    }
  }
  return files;
}

absl::Status CheckScripts(const std::vector<ScriptFile>& files,
                          const std::vector<Column>& columns) {
  for (const Column column : columns) {
    const absl::Status status = ParseAll(files, column, {}).status();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

size_t SuiteReport::failed() const {
  return static_cast<size_t>(std::count_if(cases.begin(), cases.end(),
                                           [](const CaseOutcome& each) { return each.failed(); }));
}

size_t SuiteReport::skipped() const {
  return static_cast<size_t>(std::count_if(cases.begin(), cases.end(),
                                           [](const CaseOutcome& each) { return each.skipped(); }));
}

std::map<std::string, int> SuiteReport::defects_seen() const {
  std::map<std::string, int> seen;
  for (const CaseOutcome& each : cases) {
    for (const std::string& name : DefectsOf(each.test_case)) seen[name] += 0;
  }
  for (const CaseOutcome& each : cases) {
    for (const auto& [name, answers] : each.report.defects) seen[name] += answers;
  }
  return seen;
}

absl::StatusOr<SuiteReport> RunSuite(const std::vector<ScriptFile>& files, Column column,
                                     MachineFactory make_machine, const SuiteOptions& options) {
  absl::StatusOr<SuiteReport> report = ParseAll(files, column, options);
  if (!report.ok()) return report.status();
  for (CaseOutcome& each : report->cases) {
    if (options.cancelled && options.cancelled()) return absl::CancelledError("interrupted");
    const auto start = std::chrono::steady_clock::now();
    each.report = RunCase(each.test_case, make_machine);
    if (!each.report.lost.ok()) return each.report.lost;
    each.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.progress) options.progress(each);
  }
  return report;
}

}  // namespace papr::conformance
