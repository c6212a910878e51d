// Runs of the conformance vectors as text, JSON and JUnit XML.

#ifndef CLIENT_HPTCTL_CONFORMANCE_REPORT_H_
#define CLIENT_HPTCTL_CONFORMANCE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/conformance/suite.h"

namespace papr::client::hptctl {

// "FILE:LINE: CASE [COLUMN]" and a line for each thing that does not hold or, with `verbose`, also
// for a case that passed or was skipped; else empty.
std::string CaseText(const conformance::CaseOutcome& outcome, conformance::Column column,
                     bool verbose);

// The last lines of a run: counts, why cases were skipped, and the known faults that showed.
std::string SummaryText(const conformance::SuiteReport& report);

nlohmann::ordered_json SuiteJson(const conformance::SuiteReport& report);

// Writes a <testsuite> for each run, each case a <testcase> of the class FILE. FAILED_PRECONDITION:
// `path` cannot be written.
absl::Status WriteJUnit(const std::string& path,
                        const std::vector<conformance::SuiteReport>& reports);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_CONFORMANCE_REPORT_H_
