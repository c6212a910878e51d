#include "client/conformance/step_parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/conformance/argument_names.h"
#include "mmu/hash_page_table.h"

namespace papr::conformance {
namespace {

using Words = std::vector<std::string>;

// Takes a last word `defect=NAME` off.
absl::StatusOr<std::string> TakeDefect(Words* words) {
  constexpr absl::string_view kPrefix = "defect=";
  if (words->empty() || !absl::StartsWith(words->back(), kPrefix)) return std::string();
  std::string name = words->back().substr(kPrefix.size());
  if (name.empty()) return absl::InvalidArgumentError("'defect=' without a name");
  words->pop_back();
  return name;
}

// log2 of a table's bytes.
absl::StatusOr<int> ToOrder(uint64_t value) {
  if (value <= mmu::kMaxHptOrder) return static_cast<int>(value);
  return absl::InvalidArgumentError(absl::StrFormat("0x%x is no order of a table", value));
}

// "r4".."r12" -> 0..8.
std::optional<size_t> RegisterIndex(std::string_view name) {
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    if (name == absl::StrCat("r", i + 4)) return static_cast<size_t>(i);
  }
  return std::nullopt;
}

std::optional<size_t> ArgumentIndex(const std::string& name, const Words& argument_names) {
  const auto it = std::find(argument_names.begin(), argument_names.end(), name);
  if (it != argument_names.end()) return static_cast<size_t>(it - argument_names.begin());
  return RegisterIndex(name);
}

absl::StatusOr<uint64_t> ParseOpcode(const std::string& word) {
  if (std::optional<uint64_t> opcode = hcall::OpcodeByName(word)) return *opcode;
  uint64_t opcode = 0;
  if (word.starts_with("0x") && absl::SimpleHexAtoi(word, &opcode)) return opcode;
  return absl::InvalidArgumentError(absl::StrCat("'", word, "' is no step and no hcall"));
}

// Opcode and arguments: positional ones first, then `name=value`.
absl::Status ParseCall(Words words, const Names& names, CallStep* call) {
  for (bool prefix = true; prefix && !words.empty();) {
    if (words[0] == "poll") {
      call->poll = true;
    } else if (words[0] == "problem-state") {
      call->request.problem_state = true;
    } else {
      prefix = false;
    }
    if (prefix) words.erase(words.begin());
  }
  if (words.empty()) return absl::InvalidArgumentError("no hcall");
  absl::StatusOr<uint64_t> opcode = ParseOpcode(words[0]);
  if (!opcode.ok()) return opcode.status();
  call->request.opcode = *opcode;
  const Words argument_names = ArgumentNames(*opcode);
  std::array<bool, hcall::kRegisterCount> given{};
  for (size_t i = 1; i < words.size(); ++i) {
    const std::pair<std::string, std::string> split =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    const bool named = words[i].find('=') != std::string::npos;
    const std::optional<size_t> index =
        named ? ArgumentIndex(split.first, argument_names) : std::optional<size_t>(i - 1);
    if (!index || *index >= hcall::kRegisterCount) {
      return absl::InvalidArgumentError(absl::StrCat("no argument '", words[i], "'"));
    }
    if (given[*index]) {
      return absl::InvalidArgumentError(absl::StrCat("'", words[i], "' gives an argument again"));
    }
    given[*index] = true;
    absl::StatusOr<uint64_t> value = Evaluate(named ? split.second : words[i], names);
    if (!value.ok()) return value.status();
    call->request.registers[*index] = *value;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> EvaluateAll(const Words& words, size_t first, size_t count,
                                                  const Names& names) {
  if (words.size() != first + count) {
    return absl::InvalidArgumentError(absl::StrCat("'", words[0], "' takes other arguments"));
  }
  std::vector<uint64_t> values;
  for (size_t i = first; i < words.size(); ++i) {
    absl::StatusOr<uint64_t> value = Evaluate(words[i], names);
    if (!value.ok()) return value.status();
    values.push_back(*value);
  }
  return values;
}

absl::StatusOr<TouchStep> ParseTouch(const Words& words, const Names& names) {
  if (words.size() != 3 || (words[2] != "R" && words[2] != "C" && words[2] != "RC")) {
    return absl::InvalidArgumentError("expected: touch PTEX R, C or RC");
  }
  absl::StatusOr<uint64_t> ptex = Evaluate(words[1], names);
  if (!ptex.ok()) return ptex.status();
  return TouchStep{*ptex, words[2] != "C", words[2] != "R"};
}

absl::StatusOr<FinishStep> ParseFinish(const Words& words, const Names& names) {
  if (words.size() != 3) return absl::InvalidArgumentError("expected: finish ORDER RETURN_CODE");
  absl::StatusOr<uint64_t> order = Evaluate(words[1], names);
  if (!order.ok()) return order.status();
  absl::StatusOr<int64_t> return_code = ParseReturnCode(words[2]);
  if (!return_code.ok()) return return_code.status();
  const absl::StatusOr<int> table_order = ToOrder(*order);
  if (!table_order.ok()) return table_order.status();
  return FinishStep{*table_order, *return_code};
}

absl::Status ParseExpect(Words words, const Names& names, Step* step) {
  absl::StatusOr<std::string> defect = TakeDefect(&words);
  if (!defect.ok()) return defect.status();
  step->defect = *std::move(defect);
  const std::string what = words.size() > 1 ? words[1] : "";
  if (what != "entry" && what != "valid" && what != "order") {
    return absl::InvalidArgumentError("expected: expect entry, valid or order");
  }
  absl::StatusOr<std::vector<uint64_t>> values =
      EvaluateAll(words, 2, what == "entry" ? 3 : 1, names);
  if (!values.ok()) return values.status();
  if (what == "entry") {
    step->action = ExpectEntryStep{(*values)[0], {(*values)[1], (*values)[2]}};
  } else if (what == "valid") {
    step->action = ExpectValidStep{(*values)[0]};
  } else {
    const absl::StatusOr<int> order = ToOrder((*values)[0]);
    if (!order.ok()) return order.status();
    step->action = ExpectOrderStep{*order};
  }
  return absl::OkStatus();
}

// Puts a parsed value into a step.
template <typename T>
absl::Status Take(absl::StatusOr<T> parsed, Step* step) {
  if (!parsed.ok()) return parsed.status();
  step->action = *std::move(parsed);
  return absl::OkStatus();
}

// assert VALUE == VALUE: of the script's own numbers, no matter what it runs on.
absl::Status CheckAssertion(const Words& words, const Names& names) {
  if (words.size() != 4 || words[2] != "==") {
    return absl::InvalidArgumentError("expected: assert VALUE == VALUE");
  }
  absl::StatusOr<uint64_t> left = Evaluate(words[1], names);
  if (!left.ok()) return left.status();
  absl::StatusOr<uint64_t> right = Evaluate(words[3], names);
  if (!right.ok()) return right.status();
  if (*left == *right) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s is 0x%x and %s is 0x%x", words[1], *left, words[3], *right));
}

absl::Status ParseAction(const Words& words, const Names& names, Step* step) {
  if (words[0] == "touch") return Take(ParseTouch(words, names), step);
  if (words[0] == "finish") return Take(ParseFinish(words, names), step);
  if (words[0] == "expect") return ParseExpect(words, names, step);
  if (words[0] == "reset") {
    step->action = ResetStep{};
    return words.size() == 1 ? absl::OkStatus()
                             : absl::InvalidArgumentError("'reset' takes no arguments");
  }
  if (words[0] == "assert") {
    step->action = AssertStep{};
    return CheckAssertion(words, names);
  }
  CallStep call;
  absl::Status status = ParseCall(words, names, &call);
  step->action = std::move(call);
  return status;
}

}  // namespace

absl::StatusOr<Step> ParseStep(const std::vector<std::string>& words, const Names& names) {
  Step step;
  if (absl::Status status = ParseAction(words, names, &step); !status.ok()) return status;
  return step;
}

absl::StatusOr<Expectation> ParseExpectation(std::vector<std::string> words, const Names& names) {
  Expectation expectation;
  absl::StatusOr<std::string> defect = TakeDefect(&words);
  if (!defect.ok()) return defect.status();
  expectation.defect = *std::move(defect);
  if (words.empty()) return absl::InvalidArgumentError("'->' without a return code");
  if (words[0] == "any" || words[0] == "crash") {
    expectation.any = words[0] == "any";
    expectation.crash = words[0] == "crash";
    if (words.size() == 1 && (expectation.crash || expectation.defect.empty())) return expectation;
    return absl::InvalidArgumentError(absl::StrCat("'", words[0], "' stands alone"));
  }
  for (absl::string_view text : absl::StrSplit(words[0], '|')) {
    absl::StatusOr<int64_t> code = ParseReturnCode({text.data(), text.size()});
    if (!code.ok()) return code.status();
    expectation.return_codes.push_back(*code);
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "rest=same") {
      expectation.rest_same = true;
      continue;
    }
    const std::pair<std::string, std::string> split =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    const std::optional<size_t> index = RegisterIndex(split.first);
    if (!index) return absl::InvalidArgumentError(absl::StrCat("no register '", words[i], "'"));
    if (!expectation.registers[*index].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("'", words[i], "' names a register again"));
    }
    for (absl::string_view text : absl::StrSplit(split.second, '|')) {
      absl::StatusOr<uint64_t> value = Evaluate({text.data(), text.size()}, names);
      if (!value.ok()) return value.status();
      expectation.registers[*index].push_back(*value);
    }
  }
  return expectation;
}

}  // namespace papr::conformance
