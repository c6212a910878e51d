#include "client/workload/replay_report.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace papr::client {
namespace {

// Names of the arguments of a call by position, for those that have fixed ones.
std::array<absl::string_view, 4> ArgumentNames(uint64_t opcode) {
  switch (opcode) {
    case hcall::kHEnter:
      return {"flags", "ptex", "v", "r"};
    case hcall::kHRemove:
    case hcall::kHProtect:
      return {"flags", "ptex", "avpn", ""};
    case hcall::kHRead:
    case hcall::kHClearRef:
    case hcall::kHClearMod:
      return {"flags", "ptex", "", ""};
    case hcall::kHResizeHptPrepare:
    case hcall::kHResizeHptCommit:
      return {"flags", "order", "", ""};
    case hcall::kHPageInit:
      return {"flags", "destination", "source", ""};
    default:
      return {};
  }
}

}  // namespace

std::string DescribeCall(uint64_t opcode, const hcall::Registers& arguments, int count) {
  const std::string_view known = hcall::OpcodeName(opcode);
  std::string text = known.empty() ? absl::StrFormat("hcall 0x%x", opcode) : std::string(known);
  const std::array<absl::string_view, 4> names = ArgumentNames(opcode);
  const auto shown = static_cast<size_t>(std::clamp(count, 0, hcall::kRegisterCount));
  absl::StrAppend(&text, "(");
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) absl::StrAppend(&text, ", ");
    if (i < names.size() && !names[i].empty()) absl::StrAppend(&text, names[i], "=");
    absl::StrAppendFormat(&text, "0x%x", arguments[i]);
  }
  absl::StrAppend(&text, ")");
  return text;
}

std::string DescribeResult(int64_t return_code, const hcall::Registers& outputs, int count) {
  std::string text = hcall::ReturnCodeName(return_code);
  const auto shown = static_cast<size_t>(std::clamp(count, 0, hcall::kRegisterCount));
  for (size_t i = 0; i < shown; ++i) absl::StrAppendFormat(&text, " 0x%x", outputs[i]);
  return text;
}

std::string DescribeHpte(const mmu::Hpte& hpte) {
  std::string text = absl::StrFormat("v=0x%x r=0x%x (%s", hpte.v, hpte.r,
                                     (hpte.v & mmu::kVValid) != 0 ? "valid" : "not valid");
  if ((hpte.v & mmu::kVBolted) != 0) absl::StrAppend(&text, " bolted");
  if ((hpte.v & mmu::kVSecondary) != 0) absl::StrAppend(&text, " secondary");
  if ((hpte.v & mmu::kVLarge) != 0) absl::StrAppend(&text, " large");
  if ((hpte.r & mmu::kRReferenced) != 0) absl::StrAppend(&text, " R");
  if ((hpte.r & mmu::kRChanged) != 0) absl::StrAppend(&text, " C");
  absl::StrAppend(&text, ")");
  return text;
}

std::string DescribeMismatch(const Mismatch& mismatch) {
  std::string place = mismatch.file;
  if (mismatch.line > 0) absl::StrAppend(&place, ":", mismatch.line);
  return absl::StrCat(place, ": ", mismatch.what, ": expected ", mismatch.expected, ", got ",
                      mismatch.got);
}

std::string DescribeReport(const ReplayReport& report) {
  std::string text =
      absl::StrCat(report.name, ": ", report.hcalls, " hcalls, ", report.walks, " R/C updates, ",
                   report.entries_compared, " entries, ", report.checkpoints, " checkpoints, ");
  if (report.final_compared) {
    absl::StrAppend(&text, "final table of ", report.final_entries, " entries: ");
  } else {
    absl::StrAppend(&text, "NO FINAL TABLE beside it: ");
  }
  if (report.mismatches == 0) {
    absl::StrAppend(&text, "no mismatches");
  } else {
    absl::StrAppend(&text, report.mismatches, " MISMATCHES");
  }
  absl::StrAppendFormat(&text, " (%s, %s, %.1f s", report.profile, report.target, report.seconds);
  if (report.round_trips > 0) absl::StrAppend(&text, ", ", report.round_trips, " round trips");
  absl::StrAppend(&text, ")");
  return text;
}

}  // namespace papr::client
