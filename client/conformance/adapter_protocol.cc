#include "client/conformance/adapter_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace papr::conformance {
namespace {

using Words = std::vector<std::string>;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

Words Split(std::string_view line) {
  return absl::StrSplit(View(line), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

absl::Status Malformed(std::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat("malformed line: ", View(line)));
}

bool ParseHex(const std::string& word, uint64_t* value) {
  return word.starts_with("0x") && absl::SimpleHexAtoi(word, value);
}

// All registers, from words[first].
bool ParseRegisters(const Words& words, size_t first, hcall::Registers* registers) {
  if (words.size() < first + registers->size()) return false;
  for (size_t i = 0; i < registers->size(); ++i) {
    if (!ParseHex(words[first + i], &(*registers)[i])) return false;
  }
  return true;
}

void AppendRegisters(const hcall::Registers& registers, std::string* line) {
  for (const uint64_t value : registers) absl::StrAppendFormat(line, " 0x%x", value);
}

}  // namespace

std::string FormatHcall(const hcall::HcallRequest& request) {
  std::string line = absl::StrFormat("hcall 0x%x", request.opcode);
  AppendRegisters(request.registers, &line);
  if (request.problem_state) line += " problem-state";
  return line;
}

absl::StatusOr<hcall::HcallRequest> ParseHcall(std::string_view line) {
  const Words words = Split(line);
  hcall::HcallRequest request;
  const size_t count = 2 + request.registers.size();
  if (words.size() < count || words.size() > count + 1 || words[0] != "hcall" ||
      !ParseHex(words[1], &request.opcode) || !ParseRegisters(words, 2, &request.registers)) {
    return Malformed(line);
  }
  if (words.size() > count) {
    if (words[count] != "problem-state") return Malformed(line);
    request.problem_state = true;
  }
  return request;
}

std::string FormatHcallAnswer(const hcall::HcallResult& result) {
  std::string text = absl::StrCat(result.return_code);
  AppendRegisters(result.registers, &text);
  return text;
}

absl::StatusOr<hcall::HcallResult> ParseHcallAnswer(std::string_view text) {
  const Words words = Split(text);
  hcall::HcallResult result;
  if (words.size() != 1 + result.registers.size() ||
      !absl::SimpleAtoi(words[0], &result.return_code) ||
      !ParseRegisters(words, 1, &result.registers)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected 'ok CODE R4 ... R12', CODE decimal and nine registers with 0x, got 'ok ",
        View(text), "'"));
  }
  result.output_count = hcall::kRegisterCount;
  return result;
}

std::string FormatTouch(const hcall::ReferenceChange& update) {
  return absl::StrFormat("touch 0x%x %s%s", update.ptex, update.referenced ? "R" : "",
                         update.changed ? "C" : "");
}

absl::StatusOr<hcall::ReferenceChange> ParseTouch(std::string_view line) {
  const Words words = Split(line);
  hcall::ReferenceChange update;
  if (words.size() != 3 || words[0] != "touch" || !ParseHex(words[1], &update.ptex) ||
      (words[2] != "R" && words[2] != "C" && words[2] != "RC")) {
    return Malformed(line);
  }
  update.referenced = words[2] != "C";
  update.changed = words[2] != "R";
  return update;
}

std::string FormatAnswer(const absl::Status& status) {
  if (status.ok()) return "ok";
  std::string message(status.message());
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (absl::IsUnimplemented(status)) return absl::StrCat("unsupported ", message);
  if (absl::IsAborted(status)) return absl::StrCat("crashed ", message);
  return absl::StrCat("error ", message);
}

absl::StatusOr<std::string> ParseAnswer(std::string_view line) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(View(line), absl::MaxSplits(' ', 1));
  if (parts.first == "ok") return parts.second;
  if (parts.first == "unsupported") return absl::UnimplementedError(parts.second);
  if (parts.first == "crashed") return absl::AbortedError(parts.second);
  if (parts.first == "error") return absl::InternalError(parts.second);
  return absl::InvalidArgumentError(
      absl::StrCat("expected ok, unsupported, crashed or error, got '", View(line), "'"));
}

}  // namespace papr::conformance
