#include "tests/conformance/differences/told.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/conformance/describe.h"
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
  return told;
}

}  // namespace

std::string Told::Text(const Step& step, const std::set<int>& named) const {
  if (open) return "open";
  if (crash) return "crash";
  if (none) return "does not have it";
  if (std::holds_alternative<ExpectEntryStep>(step.action)) {
    return absl::StrCat("V=", Values(registers.at(0)), " R=", Values(registers.at(1)));
  }
  if (std::holds_alternative<ExpectValidStep>(step.action)) {
    return absl::StrCat(*registers.at(0).begin(), " valid");
  }
  if (std::holds_alternative<ExpectOrderStep>(step.action)) {
    return absl::StrCat("order ", *registers.at(0).begin());
  }
  std::string text = CodeNames(codes);
  for (const auto& [index, values] : registers) {
    if (!same.contains(index) || named.contains(index)) {
      absl::StrAppend(&text, " r", index + 4, "=", Values(values));
    }
  }
  return text;
}

std::optional<Told> Tell(const Step& step) {
  if (const auto* call = std::get_if<CallStep>(&step.action)) return TellCall(*call);
  Told told;
  told.codes = {hcall::kHSuccess};
  if (const auto* entry = std::get_if<ExpectEntryStep>(&step.action)) {
    told.registers = {{0, {entry->hpte.v}}, {1, {entry->hpte.r}}};
    told.ignored = step.defect.empty() ? mmu::kVSoftwareDirty : 0;
  } else if (const auto* valid = std::get_if<ExpectValidStep>(&step.action)) {
    told.registers = {{0, {valid->count}}};
  } else if (const auto* order = std::get_if<ExpectOrderStep>(&step.action)) {
    told.registers = {{0, {static_cast<uint64_t>(order->order)}}};
  } else {
    return std::nullopt;
  }
  return told;
}

Told ToldBy(const Answer& answer, const Told& told) {
  Told came = told;
  came.open = false;
  came.crash = answer.crashed;
  came.codes = {answer.result.return_code};
  for (auto& [index, values] : came.registers) {
    values = {answer.result.registers[static_cast<size_t>(index)]};
  }
  return came;
}

bool Disagree(const Told& a, const Told& b) {
  if (a.open || b.open) return false;
  if (a.none || b.none) return a.none != b.none;
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

std::string StepText(const Step& step) {
  if (const auto* call = std::get_if<CallStep>(&step.action)) return DescribeCall(call->request);
  if (const auto* entry = std::get_if<ExpectEntryStep>(&step.action)) {
    return absl::StrFormat("entry 0x%x", entry->ptex);
  }
  return std::holds_alternative<ExpectValidStep>(step.action) ? "valid entries" : "order";
}

}  // namespace papr::conformance
