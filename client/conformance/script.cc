#include "client/conformance/script.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/conformance/expression.h"
#include "client/conformance/page.h"
#include "client/conformance/script_lines.h"
#include "client/conformance/step_parser.h"
#include "hcall/partition_spec.h"

namespace papr::conformance {
namespace {

// What keeps a mistake in a script from eating the machine.
constexpr size_t kDeepestLoop = 16;
constexpr int kMostLines = 1'000'000;  // of a script, with loops unrolled

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool IsIdentifier(const std::string& name) {
  const auto letter = [](char c) { return absl::ascii_isalpha(c) || c == '_'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || absl::ascii_isdigit(c);
  });
}

class Parser {
 public:
  explicit Parser(Column column) : column_(column) {}

  absl::StatusOr<Script> Parse(const std::vector<ScriptLine>& lines) {
    absl::Status status = ParseLines(lines, 0, lines.size());
    if (status.ok()) status = FinishCase();
    if (!status.ok()) return status;
    if (case_names_.empty()) return absl::InvalidArgumentError("no case in it");
    return std::move(script_);
  }

 private:
  // Does the open case exist in this column?
  bool active() const {
    return case_profiles_.contains(ProfileOf(column_)) && !case_without_.contains(column_);
  }

  static absl::Status Error(int line, const absl::Status& status) {
    const absl::string_view message = status.message();
    return ErrorInLine(line, {message.data(), message.size()});
  }
  static absl::Status Error(int line, const std::string& message) {
    return ErrorInLine(line, message);
  }

  absl::Status ParseLines(const std::vector<ScriptLine>& lines, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      absl::Status status;
      if (lines[i].words[0] == "for") {
        size_t end = i;
        status = ParseLoop(lines, i, last, &end);
        i = end;
      } else {
        status = ParseLine(lines[i]);
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Unrolls the loop that opens at `first`; `end` gets the index of its `end` line.
  absl::Status ParseLoop(const std::vector<ScriptLine>& lines, size_t first, size_t last,
                         size_t* end) {
    const ScriptLine& head = lines[first];
    int depth = 1;
    for (*end = first + 1; *end < last; ++*end) {
      if (lines[*end].words[0] == "for") ++depth;
      if (lines[*end].words[0] == "end" && --depth == 0) break;
    }
    if (depth != 0) return Error(head.number, "'for' without 'end'");
    if (head.words.size() < 4 || head.words[2] != "in") {
      return Error(head.number, "expected: for NAME in VALUE... or FIRST..LAST");
    }
    if (open_ && !active()) return absl::OkStatus();
    if (loops_.size() == kDeepestLoop) {
      return Error(head.number, absl::StrCat("loops nest deeper than ", kDeepestLoop));
    }
    if (absl::Status status = CheckName(head, head.words[1]); !status.ok()) return status;
    absl::StatusOr<std::vector<uint64_t>> values = LoopValues(head);
    if (!values.ok()) return Error(head.number, values.status());
    loops_.push_back(head.words[1]);
    const Names outer = names_;
    for (uint64_t value : *values) {
      names_[head.words[1]] = value;
      if (++unrolled_ > kMostLines) return TooManyLines(head);
      if (absl::Status status = ParseLines(lines, first + 1, *end); !status.ok()) return status;
    }
    names_ = outer;
    loops_.pop_back();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint64_t>> LoopValues(const ScriptLine& head) {
    std::vector<uint64_t> values;
    for (size_t i = 3; i < head.words.size(); ++i) {
      const std::vector<std::string> range = absl::StrSplit(head.words[i], "..");
      absl::StatusOr<uint64_t> from = Evaluate(range.front(), names_);
      if (!from.ok()) return from.status();
      absl::StatusOr<uint64_t> to = Evaluate(range.back(), names_);
      if (!to.ok()) return to.status();
      if (range.size() > 2 || *to < *from || *to - *from > 0xffff) {
        return absl::InvalidArgumentError(absl::StrCat("'", head.words[i], "' is no range"));
      }
      for (uint64_t step = 0; step <= *to - *from; ++step) values.push_back(*from + step);
    }
    return values;
  }

  absl::Status ParseLine(const ScriptLine& line) {
    const std::string& verb = line.words[0];
    if (++unrolled_ > kMostLines) return TooManyLines(line);
    if (verb == "case") return BeginCase(line);
    if (verb == "fixture") return SetFixture(line);
    if (verb == "profiles") return SetProfiles(line);
    if (verb == "without") return TakeAway(line);
    if (open_ && !active()) return absl::OkStatus();
    if (verb == "let") return Let(line);
    if (verb == "defect") return DeclareDefect(line);
    if (verb == "page") return SetPage(line);
    if (!open_) return Error(line.number, absl::StrCat("'", verb, "' outside a case"));
    if (verb == "->") return AddExpectation(line);
    absl::StatusOr<Step> step = ParseStep(line.words, names_);
    if (!step.ok()) return Error(line.number, step.status());
    if (absl::Status status = CheckLastStep(); !status.ok()) return status;
    step->line = line.number;
    step->text = absl::StrJoin(line.words, " ");
    for (const std::string& loop : loops_) {
      absl::StrAppend(&step->text, " [", loop, "=0x", absl::Hex(names_[loop]), "]");
    }
    own_results_ = false;
    const absl::Status status = CheckDefect(line, step->defect);
    open_->steps.push_back(*std::move(step));
    return status;
  }

  static absl::Status TooManyLines(const ScriptLine& line) {
    return Error(line.number, absl::StrCat("more than ", kMostLines, " lines, loops unrolled"));
  }

  // Of a value, a page or a loop: may the script define it?
  absl::Status CheckName(const ScriptLine& line, const std::string& name) const {
    if (!IsIdentifier(name)) return Error(line.number, absl::StrCat("'", name, "' is no name"));
    if (!predefined_.contains(name)) return absl::OkStatus();
    return Error(line.number, absl::StrCat("'", name, "' means something already"));
  }

  // What makes a case's machine comes before what is done with it.
  absl::Status CheckBeforeSteps(const ScriptLine& line) const {
    if (!open_ || open_->steps.empty()) return absl::OkStatus();
    return Error(line.number, absl::StrCat("'", line.words[0], "' after the first step"));
  }

  absl::Status BeginCase(const ScriptLine& line) {
    if (absl::Status status = FinishCase(); !status.ok()) return status;
    if (line.words.size() < 2) return Error(line.number, "a case needs a name");
    if (!loops_.empty()) return Error(line.number, "a case inside a loop");
    std::string name = absl::StrJoin(line.words.begin() + 1, line.words.end(), " ");
    if (!case_names_.insert(name).second) {
      return Error(line.number, absl::StrCat("another case is named '", name, "'"));
    }
    open_.emplace();
    open_->line = line.number;
    open_->name = std::move(name);
    case_fixture_ = file_fixture_;
    case_profiles_ = file_profiles_;
    case_without_ = file_without_;
    file_names_ = names_;
    return absl::OkStatus();
  }

  absl::Status FinishCase() {
    if (!open_) return absl::OkStatus();
    if (absl::Status status = CheckLastStep(); !status.ok()) return status;
    if (active()) {
      if (absl::Status status = CheckCase(); !status.ok()) return status;
      if (absl::Status status = MakeSpec(); !status.ok()) return status;
      script_.cases.push_back(*std::move(open_));
    }
    open_.reset();
    names_ = file_names_;
    return absl::OkStatus();
  }

  // The partition of the open case.
  absl::Status MakeSpec() {
    const auto with_profile = [&](Column profile) {
      return absl::StrCat(case_fixture_, case_fixture_.empty() ? "" : ",",
                          "profile=", View(ColumnName(profile)));
    };
    const Column profile = ProfileOf(column_);
    absl::StatusOr<hcall::PartitionSpec> spec = hcall::ParsePartitionSpec(
        with_profile(profile == Column::kPapr ? Column::kKvmHv : profile));
    if (!spec.ok()) return Error(open_->line, spec.status());
    if (!spec->name.empty()) return Error(open_->line, "a fixture has no name");
    open_->spec = with_profile(profile);
    open_->config = std::move(spec->config);
    return absl::OkStatus();
  }

  // A case in which nothing can fail tests nothing.
  absl::Status CheckCase() const {
    if (open_->steps.empty()) return Error(open_->line, "a case without steps");
    if (column_ == Column::kPapr || std::any_of(open_->steps.begin(), open_->steps.end(), Judges)) {
      return absl::OkStatus();
    }
    return Error(open_->line, absl::StrCat("a case in which nothing is expected, for ",
                                           View(ColumnName(column_))));
  }

  static bool Judges(const Step& step) {
    if (const auto* call = std::get_if<CallStep>(&step.action)) {
      return std::any_of(call->expectations.begin(), call->expectations.end(),
                         [](const Expectation& each) { return !each.any; });
    }
    return std::holds_alternative<AssertStep>(step.action) ||
           std::holds_alternative<ExpectEntryStep>(step.action) ||
           std::holds_alternative<ExpectValidStep>(step.action) ||
           std::holds_alternative<ExpectOrderStep>(step.action);
  }

  // An hcall that nothing is expected of tests nothing: a mistake in the script.
  absl::Status CheckLastStep() {
    if (!open_ || open_->steps.empty()) return absl::OkStatus();
    const Step& last = open_->steps.back();
    const auto* call = std::get_if<CallStep>(&last.action);
    if (call == nullptr || !call->expectations.empty()) return absl::OkStatus();
    return Error(last.line, absl::StrCat("hcall without '->' for ", View(ColumnName(column_))));
  }

  absl::Status SetFixture(const ScriptLine& line) {
    if (line.words.size() != 2) return Error(line.number, "expected: fixture PARTITION_SPEC");
    if (absl::Status status = CheckBeforeSteps(line); !status.ok()) return status;
    (open_ ? case_fixture_ : file_fixture_) = line.words[1];
    return absl::OkStatus();
  }

  absl::Status SetProfiles(const ScriptLine& line) {
    if (absl::Status status = CheckBeforeSteps(line); !status.ok()) return status;
    if (line.words.size() == 1) return Error(line.number, "expected: profiles PROFILE...");
    std::set<Column> profiles;
    for (size_t i = 1; i < line.words.size(); ++i) {
      const std::optional<Column> profile = ColumnByName(line.words[i]);
      if (!profile || !IsProfile(*profile)) {
        return Error(line.number, absl::StrCat("no profile '", line.words[i], "'"));
      }
      profiles.insert(*profile);
    }
    (open_ ? case_profiles_ : file_profiles_) = std::move(profiles);
    return absl::OkStatus();
  }

  absl::Status TakeAway(const ScriptLine& line) {
    if (absl::Status status = CheckBeforeSteps(line); !status.ok()) return status;
    if (line.words.size() == 1) return Error(line.number, "expected: without IMPLEMENTATION...");
    for (size_t i = 1; i < line.words.size(); ++i) {
      const std::optional<Column> column = ColumnByName(line.words[i]);
      if (!column || IsProfile(*column)) {
        return Error(line.number, absl::StrCat("no implementation '", line.words[i], "'"));
      }
      (open_ ? case_without_ : file_without_).insert(*column);
    }
    return absl::OkStatus();
  }

  absl::Status Let(const ScriptLine& line) {
    if (line.words.size() != 4 || line.words[2] != "=") {
      return Error(line.number, "expected: let NAME = VALUE");
    }
    if (absl::Status status = CheckName(line, line.words[1]); !status.ok()) return status;
    absl::StatusOr<uint64_t> value = Evaluate(line.words[3], names_);
    if (!value.ok()) return Error(line.number, value.status());
    names_[line.words[1]] = *value;
    return absl::OkStatus();
  }

  absl::Status SetPage(const ScriptLine& line) {
    if (line.words.size() < 2) return Error(line.number, "expected: page NAME FIELD...");
    if (absl::Status status = CheckName(line, line.words[1]); !status.ok()) return status;
    const absl::Status status = DefinePage(line.words, &names_);
    return status.ok() ? status : Error(line.number, status);
  }

  absl::Status DeclareDefect(const ScriptLine& line) {
    if (open_ || line.words.size() < 3) {
      return Error(line.number, "expected, before the first case: defect NAME WHAT IS WRONG");
    }
    std::string what = absl::StrJoin(line.words.begin() + 2, line.words.end(), " ");
    if (script_.defects.try_emplace(line.words[1], std::move(what)).second) return absl::OkStatus();
    return Error(line.number, absl::StrCat("the defect '", line.words[1], "' is declared already"));
  }

  absl::Status CheckDefect(const ScriptLine& line, const std::string& name) {
    if (name.empty() || script_.defects.contains(name)) return absl::OkStatus();
    return Error(line.number, absl::StrCat("no defect '", name, "' is declared"));
  }

  absl::Status AddExpectation(const ScriptLine& line) {
    CallStep* call =
        open_->steps.empty() ? nullptr : std::get_if<CallStep>(&open_->steps.back().action);
    if (call == nullptr) return Error(line.number, "'->' does not follow an hcall");
    absl::StatusOr<Expectation> expectation =
        ParseExpectation({line.words.begin() + 1, line.words.end()}, names_);
    if (!expectation.ok()) return Error(line.number, expectation.status());
    expectation->line = line.number;
    // What an implementation answers stands in for what its profile says.
    if (line.own && !own_results_) call->expectations.clear();
    if (own_results_ && !line.own) return absl::OkStatus();
    own_results_ = line.own;
    // What becomes of registers that a call has no use for is not the standard's business.
    if (column_ == Column::kPapr) expectation->rest_same = false;
    const absl::Status status = CheckDefect(line, expectation->defect);
    call->expectations.push_back(*std::move(expectation));
    return status;
  }

  const Column column_;
  const Names predefined_ = PredefinedNames();
  Names names_ = predefined_;
  Names file_names_;                // as they were before the open case
  std::vector<std::string> loops_;  // variables of the loops around the current line
  std::string file_fixture_;
  std::string case_fixture_;
  std::set<Column> file_profiles_ = {Column::kPapr, Column::kKvmHv, Column::kQemuTcg};
  std::set<Column> case_profiles_;
  std::set<Column> file_without_;
  std::set<Column> case_without_;
  std::optional<Case> open_;
  bool own_results_ = false;  // of the last step: they are the implementation's
  std::set<std::string> case_names_;
  int unrolled_ = 0;  // lines so far
  Script script_;
};

}  // namespace

absl::StatusOr<Script> ParseScript(std::string_view text, Column column) {
  absl::StatusOr<std::vector<ScriptLine>> lines = LinesOf(text, column);
  if (!lines.ok()) return lines.status();
  return Parser(column).Parse(*lines);
}

}  // namespace papr::conformance
