#include "client/hptctl/conformance_report.h"

#include <tinyxml2.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/context.h"

namespace papr::client::hptctl {
namespace {

using conformance::CaseOutcome;
using conformance::Failure;
using conformance::SuiteReport;

std::string Name(conformance::Column column) {
  return std::string(conformance::ColumnName(column));
}

const char* OutcomeName(const CaseOutcome& outcome) {
  if (outcome.failed()) return "failed";
  return outcome.skipped() ? "skipped" : "passed";
}

nlohmann::ordered_json RegistersJson(const hcall::Registers& registers) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const uint64_t value : registers) json.push_back(Hex(value));
  return json;
}

nlohmann::ordered_json AnswerJson(const CaseOutcome& outcome, const conformance::Answer& answer) {
  const conformance::Step& step = outcome.test_case.steps[answer.step];
  nlohmann::ordered_json json = {{"line", step.line}, {"step", step.text}};
  if (const auto* call = std::get_if<conformance::CallStep>(&step.action)) {
    json["opcode"] = Hex(call->request.opcode);
    json["arguments"] = RegistersJson(call->request.registers);
  }
  if (answer.crashed) {
    json["crashed"] = true;
    return json;
  }
  json["return_code"] = answer.result.return_code;
  json["registers"] = RegistersJson(answer.result.registers);
  return json;
}

nlohmann::ordered_json CaseJson(const CaseOutcome& outcome) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const Failure& failure : outcome.report.failures) {
    failures.push_back({{"line", failure.line}, {"message", failure.message}});
  }
  nlohmann::ordered_json answers = nlohmann::ordered_json::array();
  for (const conformance::Answer& answer : outcome.report.answers) {
    answers.push_back(AnswerJson(outcome, answer));
  }
  nlohmann::ordered_json json = {{"file", outcome.file},
                                 {"line", outcome.test_case.line},
                                 {"case", outcome.test_case.name},
                                 {"outcome", OutcomeName(outcome)},
                                 {"seconds", outcome.seconds},
                                 {"failures", std::move(failures)},
                                 {"defects", outcome.report.defects},
                                 {"answers", std::move(answers)}};
  if (outcome.skipped()) json["skipped"] = *outcome.report.skipped;
  return json;
}

// What XML 1.0 can hold of any bytes.
std::string XmlText(const std::string& text) {
  using nlohmann::json;
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string valid = json::parse(quoted).get<std::string>();
  std::replace_if(
      valid.begin(), valid.end(),
      [](char c) { return absl::ascii_iscntrl(c) && c != '\n' && c != '\t'; }, '?');
  return valid;
}

std::string FailureText(const Failure& failure) {
  return absl::StrFormat("line %d: %s", failure.line, failure.message);
}

void PrintCase(const CaseOutcome& outcome, tinyxml2::XMLPrinter* xml) {
  xml->OpenElement("testcase");
  xml->PushAttribute("classname", XmlText(outcome.file).c_str());
  xml->PushAttribute("file", XmlText(outcome.file).c_str());
  xml->PushAttribute("name", XmlText(outcome.test_case.name).c_str());
  xml->PushAttribute("line", outcome.test_case.line);
  xml->PushAttribute("time", outcome.seconds);
  if (outcome.failed()) {
    xml->OpenElement("failure");
    xml->PushAttribute("message", XmlText(FailureText(outcome.report.failures.front())).c_str());
    std::string text;
    for (const Failure& failure : outcome.report.failures) {
      absl::StrAppend(&text, FailureText(failure), "\n");
    }
    xml->PushText(XmlText(text).c_str());
    xml->CloseElement();
  }
  if (outcome.skipped()) {
    xml->OpenElement("skipped");
    xml->PushAttribute("message", XmlText(*outcome.report.skipped).c_str());
    xml->CloseElement();
  }
  xml->CloseElement();
}

void PrintSuite(const SuiteReport& report, tinyxml2::XMLPrinter* xml) {
  double seconds = 0;
  for (const CaseOutcome& each : report.cases) seconds += each.seconds;
  xml->OpenElement("testsuite");
  xml->PushAttribute("name", Name(report.column).c_str());
  xml->PushAttribute("tests", static_cast<unsigned>(report.cases.size()));
  xml->PushAttribute("failures", static_cast<unsigned>(report.failed()));
  xml->PushAttribute("skipped", static_cast<unsigned>(report.skipped()));
  xml->PushAttribute("time", seconds);
  for (const CaseOutcome& each : report.cases) PrintCase(each, xml);
  xml->CloseElement();
}

}  // namespace

std::string CaseText(const CaseOutcome& outcome, conformance::Column column, bool verbose) {
  if (!outcome.failed() && !verbose) return "";
  std::string text = absl::StrFormat("%s:%d: %s [%s]: %s", outcome.file, outcome.test_case.line,
                                     outcome.test_case.name, Name(column), OutcomeName(outcome));
  if (outcome.skipped()) absl::StrAppend(&text, ": ", *outcome.report.skipped);
  text += '\n';
  for (const Failure& failure : outcome.report.failures) {
    absl::StrAppend(&text, "  ", FailureText(failure), "\n");
  }
  return text;
}

std::string SummaryText(const SuiteReport& report) {
  std::string text =
      absl::StrFormat("%s: %d cases passed, %d failed, %d skipped\n", Name(report.column),
                      report.passed(), report.failed(), report.skipped());
  std::map<std::string, int> reasons;
  for (const CaseOutcome& each : report.cases) {
    if (each.skipped()) ++reasons[*each.report.skipped];
  }
  for (const auto& [reason, count] : reasons) {
    absl::StrAppendFormat(&text, "  skipped %d: %s\n", count, reason);
  }
  for (const auto& [name, answers] : report.defects_seen()) {
    const std::string& what = report.defects.at(name);
    if (answers > 0) {
      absl::StrAppendFormat(&text, "  known defect %s in %d answers: %s\n", name, answers, what);
    } else {
      absl::StrAppendFormat(&text, "  known defect %s not seen, its cases were skipped: %s\n", name,
                            what);
    }
  }
  return text;
}

nlohmann::ordered_json SuiteJson(const SuiteReport& report) {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  for (const CaseOutcome& each : report.cases) cases.push_back(CaseJson(each));
  nlohmann::ordered_json defects = nlohmann::ordered_json::array();
  for (const auto& [name, answers] : report.defects_seen()) {
    defects.push_back({{"name", name}, {"what", report.defects.at(name)}, {"answers", answers}});
  }
  return {{"column", Name(report.column)}, {"passed", report.passed()},
          {"failed", report.failed()},     {"skipped", report.skipped()},
          {"defects", std::move(defects)}, {"cases", std::move(cases)}};
}

absl::StatusOr<JUnitFile> JUnitFile::Open(const std::string& path) {
  JUnitFile junit;
  if (path.empty()) return junit;
  junit.path_ = path;
  junit.file_.reset(std::fopen(path.c_str(), "w"));
  if (junit.file_) return junit;
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

absl::Status JUnitFile::Write(const std::vector<SuiteReport>& reports) {
  if (!file_) return absl::OkStatus();
  tinyxml2::XMLPrinter xml(file_.get());
  xml.PushHeader(/*writeBOM=*/false, /*writeDeclaration=*/true);
  xml.OpenElement("testsuites");
  size_t tests = 0;
  size_t failures = 0;
  for (const SuiteReport& report : reports) {
    tests += report.cases.size();
    failures += report.failed();
  }
  xml.PushAttribute("tests", static_cast<unsigned>(tests));
  xml.PushAttribute("failures", static_cast<unsigned>(failures));
  for (const SuiteReport& report : reports) PrintSuite(report, &xml);
  xml.CloseElement();
  if (std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot write all of ", path_));
}

}  // namespace papr::client::hptctl
