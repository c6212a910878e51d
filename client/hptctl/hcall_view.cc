#include "client/hptctl/hcall_view.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/hpte_view.h"

namespace papr::client::hptctl {
namespace {

// Removal specifiers: the top byte is control.
constexpr int kControlShift = 56;
constexpr uint64_t kTypeMask = 0xc0;
constexpr uint64_t kTypeRequest = 0x40;
constexpr uint64_t kTypeResponse = 0x80;
constexpr uint64_t kTypeEnd = 0xc0;

// Where a family of specifiers keeps its response code, R and C.
struct SpecifierLayout {
  int code_shift;
  uint64_t code_mask;
  uint64_t referenced;  // bits of the whole word
  uint64_t changed;
  uint64_t target_mask;
};
constexpr SpecifierLayout kBulk = {60, 0x3, 0x0800000000000000, 0x0400000000000000,
                                   0x00ffffffffffffff};
// QEMU puts R and C of H_BULK_REMOVE among the bits of the ptex.
constexpr SpecifierLayout kQemuBulk = {60, 0x3, 0x0008000000000000, 0x0004000000000000,
                                       0x00f3ffffffffffff};
constexpr SpecifierLayout kBlock = {59, 0x7, 0x0400000000000000, 0x0200000000000000,
                                    0x0000ffffffffffff};

absl::string_view BulkCode(uint64_t code) {
  static constexpr absl::string_view kNames[] = {"removed", "not found", "bad parameter",
                                                 "hardware error"};
  return kNames[code];
}

absl::string_view BlockCode(uint64_t code) {
  static constexpr absl::string_view kNames[] = {
      "removed", "not found",   "bad parameter", "other page size",
      "busy",    "other block", "over capacity", "hardware error"};
  return kNames[code];
}

// One word of the answer to a bulk or block removal.
void ViewSpecifier(size_t index, uint64_t word, const SpecifierLayout& layout, bool block,
                   HcallView* view) {
  const uint64_t type = (word >> kControlShift) & kTypeMask;
  const uint64_t target = word & layout.target_mask;
  nlohmann::ordered_json json = {{"specifier", index}, {"word", Hex(word)}};
  std::string text = absl::StrFormat("specifier %d: %016x ", index, word);
  if (type == kTypeResponse) {
    const uint64_t code = (word >> layout.code_shift) & layout.code_mask;
    const absl::string_view name = block ? BlockCode(code) : BulkCode(code);
    json["response"] = std::string(name);
    json["target"] = Hex(target);
    absl::StrAppendFormat(&text, "0x%x %s", target, name);
    if (code == 0) {
      json["referenced"] = (word & layout.referenced) != 0;
      json["changed"] = (word & layout.changed) != 0;
      if ((word & layout.referenced) != 0) absl::StrAppend(&text, ", R");
      if ((word & layout.changed) != 0) absl::StrAppend(&text, ", C");
    }
  } else {
    const absl::string_view name = type == kTypeEnd       ? "end"
                                   : type == kTypeRequest ? "request, not reached"
                                                          : "unused";
    json["response"] = std::string(name);
    absl::StrAppend(&text, name);
  }
  view->lines.push_back(std::move(text));
  view->json.push_back(std::move(json));
}

void ViewHptes(const AttachedPartition& partition, uint64_t first_ptex,
               const hcall::HcallResult& result, HcallView* view) {
  view->lines.push_back(HpteHeading());
  for (size_t i = 0; 2 * i + 1 < static_cast<size_t>(result.output_count); ++i) {
    const mmu::Hpte hpte{result.registers[2 * i], result.registers[2 * i + 1]};
    const HpteView entry = ViewHpte(first_ptex + i, hpte, partition.page_sizes);
    view->lines.push_back(HpteLine(entry));
    view->json.push_back(HpteJson(entry));
  }
}

// The first slot of the PTEG where H_HASH_REMOVE found the entry.
uint64_t PtegOfHash(const AttachedPartition& partition, uint64_t hash, uint64_t v) {
  const uint64_t mask = (uint64_t{1} << (partition.order - 7)) - 1;
  return (((v & mmu::kVSecondary) != 0 ? ~hash : hash) & mask) << mmu::kPtegShift;
}

}  // namespace

HcallView ViewOutputs(const AttachedPartition& partition, const hcall::HcallRequest& request,
                      const hcall::HcallResult& result) {
  HcallView view;
  const hcall::Registers& in = request.registers;
  const hcall::Registers& out = result.registers;
  if (result.output_count == 0) return view;
  switch (request.opcode) {
    case hcall::kHEnter:
      view.lines.push_back(absl::StrFormat("entered at ptex 0x%x", out[0]));
      view.json.push_back({{"ptex", out[0]}});
      break;
    case hcall::kHRead:
      ViewHptes(partition, (in[0] & hcall::kFlagRead4) != 0 ? in[1] & ~uint64_t{3} : in[1], result,
                &view);
      break;
    case hcall::kHRemove:
      ViewHptes(partition, in[1], result, &view);
      break;
    case hcall::kHHashRemove:
      ViewHptes(partition, PtegOfHash(partition, in[1], out[0]), result, &view);
      break;
    case hcall::kHClearRef:
    case hcall::kHClearMod: {
      const bool referenced = (out[0] & mmu::kRReferenced) != 0;
      const bool changed = (out[0] & mmu::kRChanged) != 0;
      view.lines.push_back(absl::StrFormat("before: r=0x%x %s %s", out[0], referenced ? "R" : "-",
                                           changed ? "C" : "-"));
      view.json.push_back({{"r", Hex(out[0])}, {"referenced", referenced}, {"changed", changed}});
      break;
    }
    case hcall::kHBulkRemove:
    case hcall::kHHashBulkRemove: {
      const bool qemu =
          partition.profile == hcall::Profile::kQemuTcg && request.opcode == hcall::kHBulkRemove;
      for (size_t i = 0; i < 4; ++i) {
        ViewSpecifier(i, out[2 * i], qemu ? kQemuBulk : kBulk, /*block=*/false, &view);
      }
      break;
    }
    case hcall::kHBlockRemove:
      for (size_t i = 0; i < static_cast<size_t>(result.output_count) && i < 8; ++i) {
        ViewSpecifier(i, out[i], kBlock, /*block=*/true, &view);
      }
      break;
    default:
      break;
  }
  return view;
}

}  // namespace papr::client::hptctl
