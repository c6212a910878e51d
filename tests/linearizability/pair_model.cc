#include "tests/linearizability/pair_model.h"

#include <algorithm>

namespace papr::linearizability {
namespace {

using model::Entry;
using Answer = PairStep::Answer;
using Change = PairStep::Change;
using Kind = PairStep::Kind;

bool Present(const Entry& entry) { return (entry.v & model::kPresent) != 0; }

bool AvpnMatches(const Entry& entry, uint64_t avpn) { return (entry.v & ~uint64_t{0x7f}) == avpn; }

bool FitsTold(const PairStep& step, const Entry& entry) {
  return ((entry.v ^ step.told.v) & step.told_mask.v) == 0 &&
         ((entry.r ^ step.told.r) & step.told_mask.r) == 0;
}

// The order in which a hash-based call looks at a pair, from the group at `first` on.
int SearchPosition(int first, int rank) { return (first + rank) % kPairEntries; }

bool MatchesSearch(const PairStep& step, const PairState& state, int rank) {
  const Entry& entry = state.entries[SearchPosition(step.position, rank)];
  const bool secondary = rank >= model::kSlots;
  return Present(entry) && AvpnMatches(entry, *step.avpn) &&
         ((entry.v & model::kSecondary) != 0) == secondary;
}

// The entry that `choice` says the search found: nothing for none. False: it cannot have.
bool Search(const PairStep& step, int choice, const PairState& state, std::optional<int>* found) {
  *found = std::nullopt;
  for (int rank = 0; rank < kPairEntries; ++rank) {
    if (!MatchesSearch(step, state, rank)) continue;
    const int position = SearchPosition(step.position, rank);
    if (rank == choice) {
      *found = position;
      return true;
    }
    if ((step.excused & At(position)) == 0) return false;  // must have been seen
  }
  return choice == kPairEntries;
}

bool PassesTests(const PairStep& step, const Entry& entry) {
  if (!Present(entry)) return false;
  if (step.of_block && (entry.v & model::kBolted) != 0) return false;
  if (step.avpn.has_value() && !AvpnMatches(entry, *step.avpn)) return false;
  return !step.and_mask.has_value() || (entry.v & *step.and_mask) == 0;
}

void Carry(const PairStep& step, Entry& entry) {
  switch (step.change) {
    case Change::kRemove:
      entry = step.removed;
      return;
    case Change::kProtect:
      entry.r = (entry.r & ~model::kProtectMask) | step.bits;
      break;
    case Change::kClearBits:
      entry.r &= ~step.bits;
      break;
    case Change::kSetBits:
      entry.r |= step.bits;
      break;
  }
  entry.v |= step.v_bits;
}

bool FitsBlock(const PairStep& step, const Entry& entry) {
  if (!step.first_block.has_value()) return true;
  const auto& [one, other] = *step.first_block;
  const uint64_t block = BlockOf4K(entry.v, step.ptex);
  return step.answer == Answer::kSuccess ? block == one || block == other
                                         : block != one || block != other;
}

std::optional<PairState> ApplyChange(const PairStep& step, int choice, const PairState& before) {
  std::optional<int> position = step.position;
  if (step.by_hash && !Search(step, choice, before, &position)) return std::nullopt;
  if (step.answer == Answer::kBusy) {
    return (step.excused & At(step.position)) != 0 ? std::optional(before) : std::nullopt;
  }
  const bool passes = position.has_value() && PassesTests(step, before.entries[*position]);
  if (passes == (step.answer == Answer::kRefused)) return std::nullopt;
  if (!passes) return before;
  const Entry& entry = before.entries[*position];
  if (step.of_block && !FitsBlock(step, entry)) return std::nullopt;
  if (step.answer == Answer::kOtherBlock) return before;
  if (!FitsTold(step, entry)) return std::nullopt;
  PairState after = before;
  Carry(step, after.entries[*position]);
  return after;
}

std::optional<PairState> ApplyEnter(const PairStep& step, const PairState& before) {
  const int first = step.position;
  const int taken = step.kind == Kind::kEnterAt ? first : step.taken;
  if (step.answer == Answer::kRefused) {
    const int end = step.kind == Kind::kEnterAt ? first + 1 : first + model::kSlots;
    for (int i = first; i < end; ++i) {
      if (!Present(before.entries[i])) return std::nullopt;
    }
    return before;
  }
  for (int i = first; i < taken; ++i) {  // the lowest that is free
    if (!Present(before.entries[i]) && (step.excused & At(i)) == 0) return std::nullopt;
  }
  if (Present(before.entries[taken])) return std::nullopt;
  PairState after = before;
  after.entries[taken] = step.entered;
  return after;
}

}  // namespace

Place PlaceOf(uint64_t ptex, uint64_t group_mask) {
  const uint64_t group = ptex / model::kSlots;
  const uint64_t other = ~group & group_mask;
  const int slot = static_cast<int>(ptex % model::kSlots);
  return group < other ? Place{group, slot} : Place{other, model::kSlots + slot};
}

uint64_t PtexOf(const Place& place, uint64_t group_mask) {
  const bool upper = place.position >= model::kSlots;
  const uint64_t group = upper ? ~place.pair & group_mask : place.pair;
  return group * model::kSlots + static_cast<uint64_t>(place.position % model::kSlots);
}

uint64_t BlockOf4K(uint64_t v, uint64_t ptex) {
  return model::BlockOf(model::RecoverPage(v, 12, ptex, model::RecoverableBits(12)));
}

int Choices(const PairStep& step) { return step.by_hash ? kPairEntries + 1 : 1; }

std::optional<PairState> Apply(const PairStep& step, int choice, const PairState& before) {
  switch (step.kind) {
    case Kind::kEnterAt:
    case Kind::kEnterGroup:
      return ApplyEnter(step, before);
    case Kind::kRead:
      return FitsTold(step, before.entries[step.position]) ? std::optional(before) : std::nullopt;
    case Kind::kChange:
      break;
  }
  return ApplyChange(step, choice, before);
}

}  // namespace papr::linearizability
