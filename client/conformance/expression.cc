#include "client/conformance/expression.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hcall/abi.h"
#include "mmu/hpte.h"

namespace papr::conformance {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<uint64_t> EvaluateAtom(const std::string& atom, const Names& names) {
  if (const auto it = names.find(atom); it != names.end()) return it->second;
  uint64_t value = 0;
  const bool is_number =
      atom.starts_with("0x") ? absl::SimpleHexAtoi(atom, &value) : absl::SimpleAtoi(atom, &value);
  if (!is_number) {
    return absl::InvalidArgumentError(absl::StrCat("'", atom, "' is no number and no name"));
  }
  return value;
}

}  // namespace

Names PredefinedNames() {
  return {{"EXACT", hcall::kFlagExact},
          {"R_XLATE", hcall::kFlagRXlate},
          {"READ_4", hcall::kFlagRead4},
          {"AVPN", hcall::kFlagAvpn},
          {"ANDCOND", hcall::kFlagAndCond},
          {"ICACHE_INVALIDATE", hcall::kFlagICacheInvalidate},
          {"ICACHE_SYNCHRONIZE", hcall::kFlagICacheSynchronize},
          {"ZERO_PAGE", hcall::kFlagZeroPage},
          {"COPY_PAGE", hcall::kFlagCopyPage},
          {"VALID", mmu::kVValid},
          {"SECONDARY", mmu::kVSecondary},
          {"LARGE", mmu::kVLarge},
          {"BOLTED", mmu::kVBolted},
          {"REFERENCED", mmu::kRReferenced},
          {"CHANGED", mmu::kRChanged},
          {"NO_EXECUTE", mmu::kRNoExecute}};
}

absl::StatusOr<uint64_t> Evaluate(std::string_view text, const Names& names) {
  uint64_t sum = 0;
  for (absl::string_view product_text : absl::StrSplit(View(text), '+')) {
    uint64_t product = 1;
    for (absl::string_view atom : absl::StrSplit(product_text, '*')) {
      absl::StatusOr<uint64_t> value = EvaluateAtom(std::string(atom), names);
      if (!value.ok()) return value.status();
      product *= *value;
    }
    sum += product;
  }
  return sum;
}

absl::StatusOr<int64_t> ParseReturnCode(std::string_view text) {
  int64_t code = 0;
  if (absl::SimpleAtoi(View(text), &code)) return code;
  constexpr std::array<std::pair<int64_t, int64_t>, 2> kNamedRanges = {
      {{-400, 100}, {hcall::kHLongBusyOrder1Msec, hcall::kHLongBusyOrder100Sec}}};
  for (const auto& [first, last] : kNamedRanges) {
    for (code = first; code <= last; ++code) {
      if (hcall::ReturnCodeName(code) == text) return code;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("'", View(text), "' is no return code"));
}

}  // namespace papr::conformance
