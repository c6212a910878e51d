// H_BULK_REMOVE, H_HASH_BULK_REMOVE and H_BLOCK_REMOVE.

#include <algorithm>
#include <vector>

#include "tests/model/reference_model.h"

namespace papr::model {
namespace {

constexpr uint64_t kRequest = 1;
constexpr uint64_t kEnd = 3;

// What the modifier of a bulk request says.
constexpr uint64_t kModifierAndCond = 1;
constexpr uint64_t kModifierAvpn = 2;
constexpr uint64_t kModifierInvalid = 3;

// A word with `control` as its byte 0 and `operand` below it.
uint64_t Specifier(uint64_t control, uint64_t operand) { return (control << 56) | operand; }

}  // namespace

hcall::HcallResult ReferenceModel::BulkRemove(const Registers& in, FoundBy found_by) {
  const bool by_hash = found_by == FoundBy::kHash;
  // Where R and C stand in a response: QEMU shifts them by 8 bits less than PAPR says.
  const int rc_shift = qemu() && !by_hash ? 43 : 51;
  Result result{hcall::kHSuccess, 8, in};
  for (int i = 0; i < 4; ++i) {
    uint64_t& high = result.registers[2 * i];
    const uint64_t low = result.registers[2 * i + 1];
    const uint64_t type = high >> 62;
    const uint64_t modifier = (high >> 56) & 3;
    const uint64_t operand = high & 0x00ffffffffffffff;
    if (type == kEnd) return result;
    const bool bad_operand = by_hash ? modifier != kModifierAvpn : operand >= entry_count();
    if (type != kRequest || modifier == kModifierInvalid || bad_operand) {
      const bool leave_word = qemu() && !by_hash && type != kRequest;
      if (!leave_word) high = Specifier(0xa0 | modifier, operand);
      result.return_code = hcall::kHParameter;
      return result;
    }
    const std::optional<uint64_t> ptex = by_hash ? Find(operand, low) : operand;
    const Entry entry = ptex ? At(*ptex) : Entry{};
    if ((entry.v & kPresent) == 0 || (modifier == kModifierAndCond && (entry.v & low) != 0) ||
        (modifier == kModifierAvpn && (entry.v & ~uint64_t{0x7f}) != low)) {
      high = Specifier(0x90 | modifier, operand);
      continue;
    }
    const Entry old = Take(*ptex);
    high = Specifier(0x80 | modifier, operand) | ((old.r & (kReferenced | kChanged)) << rc_shift);
  }
  return result;
}

hcall::HcallResult ReferenceModel::BlockRemove(const Registers& in) {
  struct Anchor {
    mmu::PageSizes sizes;
    uint64_t segment_size;
    uint64_t block;
  };
  const uint64_t ava = in[0];
  const auto& supported = config_.block_remove_sizes;
  std::optional<Anchor> anchor;
  std::vector<std::pair<int, uint64_t>> collected;  // specifier and its ptex

  Result result{hcall::kHSuccess, 8, in};
  for (int k = 0; k < 8; ++k) result.registers[k] = in[k + 1];
  const auto respond = [&](int k, uint64_t code, uint64_t ptex) {
    const uint64_t avpn_bit = (in[k + 1] >> 56) & 1;
    result.registers[k] = Specifier(0x80 | (code << 3) | avpn_bit, ptex);
    if (code != 0) result.return_code = hcall::kHPartial;
  };

  for (int k = 0; k < 8; ++k) {
    const uint64_t specifier = in[k + 1];
    const uint64_t type = specifier >> 62;
    const uint64_t page_state = (specifier >> 60) & 3;
    const bool test_avpn = ((specifier >> 56) & 1) != 0;
    const uint64_t ptex = specifier & 0x0000ffffffffffff;
    if (type == kEnd) break;
    if (type != kRequest) {
      result.return_code = hcall::kHParameter;
      break;
    }
    if (ptex >= entry_count()) {
      respond(k, 2, ptex);
      continue;
    }
    const bool again = std::any_of(collected.begin(), collected.end(),
                                   [&](const auto& one) { return one.second == ptex; });
    const Entry entry = At(ptex);
    if (again || (entry.v & kPresent) == 0 || (entry.v & kBolted) != 0) {
      respond(k, 1, ptex);
      continue;
    }
    const std::optional<mmu::PageSizes> sizes =
        DecodePageSizes(config_.page_sizes, entry.v, entry.r);
    if (!sizes || std::find(supported.begin(), supported.end(), *sizes) == supported.end()) {
      respond(k, 2, ptex);
      continue;
    }
    if (test_avpn && (entry.v & ~uint64_t{0x7f}) != ava) {
      respond(k, 1, ptex);
      continue;
    }
    if (page_state == 1) {
      respond(k, 2, ptex);
      continue;
    }
    const VirtualPage page = RecoverPage(entry.v, sizes->base, ptex, RecoverableBits(sizes->base));
    if (!anchor) {
      anchor = Anchor{*sizes, entry.v >> 62, BlockOf(page)};
    } else if (anchor->sizes != *sizes || anchor->segment_size != entry.v >> 62) {
      respond(k, 3, ptex);
      continue;
    } else if (anchor->block != BlockOf(page)) {
      respond(k, 5, ptex);
      continue;
    }
    collected.emplace_back(k, ptex);
  }
  for (const auto& [k, ptex] : collected) {
    const Entry old = Take(ptex);
    respond(k, 0, ptex);
    if ((old.r & kReferenced) != 0) result.registers[k] |= 0x0400000000000000;
    if ((old.r & kChanged) != 0) result.registers[k] |= 0x0200000000000000;
  }
  return result;
}

}  // namespace papr::model
