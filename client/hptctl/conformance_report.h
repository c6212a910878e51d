// Runs of the conformance vectors as text, JSON and JUnit XML.

#ifndef CLIENT_HPTCTL_CONFORMANCE_REPORT_H_
#define CLIENT_HPTCTL_CONFORMANCE_REPORT_H_

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/conformance/suite.h"

namespace papr::client::hptctl {

// "FILE:LINE: CASE [COLUMN]" and a line for each thing that does not hold or, with `verbose`, also
// for a case that passed or was skipped; else empty.
std::string CaseText(const conformance::CaseOutcome& outcome, conformance::Column column,
                     bool verbose);

// The last lines of a run: counts, why cases were skipped, and the known faults that showed.
std::string SummaryText(const conformance::SuiteReport& report);

nlohmann::ordered_json SuiteJson(const conformance::SuiteReport& report);

// A file of JUnit XML: a <testsuite> for each run, each case a <testcase> of the class FILE.
class JUnitFile {
 public:
  // Makes the file empty; an empty `path`: none, and nothing will be written. FAILED_PRECONDITION:
  // it cannot be written.
  static absl::StatusOr<JUnitFile> Open(const std::string& path);
  // All of it. FAILED_PRECONDITION: it could not be written.
  absl::Status Write(const std::vector<conformance::SuiteReport>& reports);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_CONFORMANCE_REPORT_H_
