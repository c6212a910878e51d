#include "tests/conformance/differences/run_record.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace papr::conformance {
namespace {

// Throws nlohmann::json::exception where the document is not as it should be.
Answer AnswerFrom(const nlohmann::json& json) {
  Answer answer;
  answer.crashed = json.contains("crashed");
  if (answer.crashed) return answer;
  answer.result.return_code = json.at("return_code");
  for (size_t i = 0; i < answer.result.registers.size(); ++i) {
    const std::string word = json.at("registers").at(i);
    if (!absl::SimpleHexAtoi(word, &answer.result.registers[i])) answer.result.registers[i] = 0;
  }
  return answer;
}

}  // namespace

StepKey StepKeys::Next(const std::string& text) {
  std::string key = text;
  if (absl::StartsWith(text, "expect ")) {
    const std::vector<std::string> words = absl::StrSplit(text, ' ');
    key = absl::StrCat("expect ", words[1], words[1] == "entry" ? " " + words[2] : "");
  }
  const int ordinal = count_[key]++;
  return {std::move(key), ordinal};
}

RunRecord RecordOf(const SuiteReport& report, const std::string& target) {
  RunRecord record;
  record.target = target;
  record.passed = report.passed();
  record.failed = report.failed();
  record.defects = report.defects_seen();
  for (const CaseOutcome& outcome : report.cases) {
    if (outcome.skipped()) ++record.skipped[*outcome.report.skipped];
    StepKeys keys;
    for (const Answer& answer : outcome.report.answers) {
      const StepKey key = keys.Next(outcome.test_case.steps[answer.step].text);
      record.answers[{outcome.file, outcome.test_case.line, key}] = answer;
    }
  }
  return record;
}

absl::StatusOr<RunRecord> RecordOf(const nlohmann::json& document) try {
  RunRecord record;
  record.target = document.at("target");
  const nlohmann::json& run = document.at("runs").at(0);
  record.passed = run.at("passed");
  record.failed = run.at("failed");
  for (const nlohmann::json& defect : run.at("defects")) {
    record.defects[defect.at("name")] = defect.at("answers");
  }
  for (const nlohmann::json& one : run.at("cases")) {
    if (one.contains("skipped")) ++record.skipped[one.at("skipped")];
    StepKeys keys;
    for (const nlohmann::json& answer : one.at("answers")) {
      const StepKey key = keys.Next(answer.at("step"));
      record.answers[{one.at("file"), one.at("line"), key}] = AnswerFrom(answer);
    }
  }
  return record;
} catch (const nlohmann::json::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("not a run of the vectors: ", error.what()));
}

}  // namespace papr::conformance
