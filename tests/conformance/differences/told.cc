#include "tests/conformance/differences/told.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "hcall/abi.h"
#include "mmu/hpte.h"

namespace papr::conformance {
namespace {

// Six codes that a guest treats alike have one name.
std::string CodeNames(std::set<int64_t> codes) {
  std::vector<std::string> names;
  const auto long_busy = [](int64_t code) { return hcall::IsLongBusy(code); };
  if (std::count_if(codes.begin(), codes.end(), long_busy) > 1) {
    std::erase_if(codes, long_busy);
    names.emplace_back("H_LONG_BUSY_ORDER_*");
  }
  for (const int64_t code : codes) names.emplace_back(hcall::ReturnCodeName(code));
  return absl::StrJoin(names, " or ");
}

std::string Values(const std::set<uint64_t>& values) {
  return absl::StrJoin(values, " or ", [](std::string* out, uint64_t value) {
    absl::StrAppendFormat(out, "0x%x", value);
  });
}

// Do the values of the register R4 + `index` include V words?
bool IsV(const CallStep& call, int index) {
  if (call.request.opcode == hcall::kHRead) return index < 8 && index % 2 == 0;
  const uint64_t opcode = call.request.opcode;
  return (opcode == hcall::kHRemove || opcode == hcall::kHHashRemove) && index == 0;
}

std::string CallText(const Told& told) {
  if (told.open) return "open";
  if (told.crash) return "crash";
  std::string text = CodeNames(told.codes);
  for (const auto& [index, values] : told.registers) {
    if (!told.same.contains(index)) {
      absl::StrAppend(&text, " r", index + 4, "=", Values(values));
    }
  }
  return text;
}

std::string EntryText(uint64_t v, uint64_t r) { return absl::StrFormat("V=0x%x R=0x%x", v, r); }

Told TellCall(const CallStep& call) {
  Told told;
  bool marked = false;
  for (const Expectation& expectation : call.expectations) {
    told.open = told.open || expectation.any;
    told.crash = told.crash || expectation.crash;
    told.codes.insert(expectation.return_codes.begin(), expectation.return_codes.end());
    marked = marked || !expectation.defect.empty();
    for (int i = 0; i < hcall::kRegisterCount; ++i) {
      const std::vector<uint64_t>& values = expectation.registers[i];
      told.registers[i].insert(values.begin(), values.end());
      if (values.empty() && expectation.rest_same) {
        told.registers[i].insert(call.request.registers[i]);
        told.same.insert(i);
      }
      if (told.registers[i].empty()) told.registers.erase(i);
      if (!marked && !values.empty() && IsV(call, i)) told.ignored = mmu::kVSoftwareDirty;
    }
  }
  told.text = CallText(told);
  return told;
}

}  // namespace

std::optional<Told> Tell(const Step& step) {
  if (const auto* call = std::get_if<CallStep>(&step.action)) return TellCall(*call);
  Told told;
  told.codes = {hcall::kHSuccess};
  if (const auto* entry = std::get_if<ExpectEntryStep>(&step.action)) {
    told.registers = {{0, {entry->hpte.v}}, {1, {entry->hpte.r}}};
    told.ignored = step.defect.empty() ? mmu::kVSoftwareDirty : 0;
    told.text = EntryText(entry->hpte.v, entry->hpte.r);
  } else if (const auto* valid = std::get_if<ExpectValidStep>(&step.action)) {
    told.registers = {{0, {valid->count}}};
    told.text = absl::StrCat(valid->count, " valid");
  } else if (const auto* order = std::get_if<ExpectOrderStep>(&step.action)) {
    told.registers = {{0, {static_cast<uint64_t>(order->order)}}};
    told.text = absl::StrCat("order ", order->order);
  } else {
    return std::nullopt;
  }
  return told;
}

bool Disagree(const Told& a, const Told& b) {
  if (a.open || b.open) return false;
  if (a.crash || b.crash) return a.crash != b.crash;
  const auto in_b = [&](int64_t code) { return b.codes.contains(code); };
  if (std::none_of(a.codes.begin(), a.codes.end(), in_b)) return true;
  const uint64_t compared = ~(a.ignored & b.ignored);
  for (const auto& [index, values] : a.registers) {
    const auto other = b.registers.find(index);
    if (other == b.registers.end()) continue;
    const auto matches = [&](uint64_t value) {
      return std::any_of(other->second.begin(), other->second.end(),
                         [&](uint64_t each) { return ((each ^ value) & compared) == 0; });
    };
    if (std::none_of(values.begin(), values.end(), matches)) return true;
  }
  return false;
}

std::string AnswerText(const Step& step, const Told& told, const Answer& answer) {
  if (answer.crashed) return "crash";
  const hcall::Registers& values = answer.result.registers;
  if (std::holds_alternative<ExpectEntryStep>(step.action)) return EntryText(values[0], values[1]);
  if (std::holds_alternative<ExpectValidStep>(step.action))
    return absl::StrCat(values[0], " valid");
  if (std::holds_alternative<ExpectOrderStep>(step.action))
    return absl::StrCat("order ", values[0]);
  Told came = told;
  came.open = false;
  came.crash = false;
  came.codes = {answer.result.return_code};
  for (auto& [index, each] : came.registers) each = {values[static_cast<size_t>(index)]};
  return CallText(came);
}

}  // namespace papr::conformance
