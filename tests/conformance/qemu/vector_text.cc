#include "tests/conformance/qemu/vector_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "hcall/abi.h"

namespace papr::conformance {
namespace {

std::string CallText(const hcall::HcallRequest& request) {
  const std::string_view name = hcall::OpcodeName(request.opcode);
  std::string text = name.empty() ? absl::StrFormat("0x%x", request.opcode) : std::string(name);
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    if (request.registers[i] == 0) continue;
    absl::StrAppendFormat(&text, " r%d=0x%x", i + 4, request.registers[i]);
  }
  return text;
}

// Registers that still hold their argument are left to "rest=same".
std::string ResultText(const hcall::HcallRequest& request, const hcall::HcallResult& result) {
  std::string text = absl::StrCat("-> ", hcall::ReturnCodeName(result.return_code));
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    if (result.registers[i] == request.registers[i]) continue;
    absl::StrAppendFormat(&text, " r%d=0x%x", i + 4, result.registers[i]);
  }
  return text + " rest=same";
}

void AppendHcall(const hcall::HcallRequest& request, const StepRecord& record, std::string& text) {
  for (size_t i = 0; i < record.reference.size(); ++i) {
    absl::StrAppend(&text, "  ", i > 0 ? "poll " : "", CallText(request), "\n    ",
                    ResultText(request, record.reference[i]), "\n");
  }
  // The reference has ended in this call.
  if (record.reference.empty()) absl::StrAppend(&text, "  # ", CallText(request), "\n");
}

void AppendUpdate(const hcall::ReferenceChange& update, std::string& text) {
  absl::StrAppendFormat(&text, "  touch 0x%x %s%s\n", update.ptex, update.referenced ? "R" : "",
                        update.changed ? "C" : "");
}

std::string AsComment(const std::string& text) {
  return absl::StrCat("    # ", absl::StrReplaceAll(text, {{"\n", "\n    # "}}), "\n");
}

}  // namespace

std::string VectorText(std::string_view fixture, std::string_view name,
                       const ReplayResult& replay) {
  std::string text = absl::StrFormat("fixture %s\nprofiles qemu-tcg\n\ncase %s\n",
                                     absl::string_view(fixture.data(), fixture.size()),
                                     absl::string_view(name.data(), name.size()));
  for (const StepRecord& record : replay.records) {
    if (const auto* request = std::get_if<hcall::HcallRequest>(&record.step)) {
      AppendHcall(*request, record, text);
    } else {
      AppendUpdate(std::get<hcall::ReferenceChange>(record.step), text);
    }
  }
  if (!replay.difference.empty()) text += AsComment(replay.difference);
  return text;
}

}  // namespace papr::conformance
