// The sequential meaning of hypercalls on one pair of PTEGs, g and ~g: 16 entries, and steps that
// change or look at them. Written from the specification, apart from mmu/ and hcall/.
//
// A step carries what the engine answered, and so either fits a state, and gives the next one, or
// does not. Pure data and functions; any thread may use them.

#ifndef TESTS_LINEARIZABILITY_PAIR_MODEL_H_
#define TESTS_LINEARIZABILITY_PAIR_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "tests/model/reference_entry.h"

namespace papr::linearizability {

inline constexpr int kPairEntries = 2 * model::kSlots;

// Which pair a ptex is in, and where: positions 0..7 are the lower of the two groups.
struct Place {
  uint64_t pair = 0;  // number of the lower group
  int position = 0;   // 0..15
};
Place PlaceOf(uint64_t ptex, uint64_t group_mask);
// The other way.
uint64_t PtexOf(const Place& place, uint64_t group_mask);

// Number of the block of eight pages that an entry of a 4K page lies in.
uint64_t BlockOf4K(uint64_t v, uint64_t ptex);

struct PairState {
  std::array<model::Entry, kPairEntries> entries;

  friend bool operator==(const PairState&, const PairState&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const PairState& pair) {
    for (const model::Entry& entry : pair.entries) {
      state = H::combine(std::move(state), entry.v, entry.r);
    }
    return state;
  }
};

// Positions in a pair, bit by bit.
using PositionSet = uint32_t;
constexpr PositionSet At(int position) { return PositionSet{1} << position; }

// What a call does to one pair, atomically. All of one call have the call's interval.
struct PairStep {
  enum class Kind : uint8_t {
    kEnterAt,     // H_ENTER with EXACT, at `position`
    kEnterGroup,  // H_ENTER without, in the group that begins at `position`
    kRead,        // of `position`
    kChange,      // of the valid entry at `position`, or of that found by hash
  };
  enum class Change : uint8_t { kRemove, kProtect, kClearBits, kSetBits };
  enum class Answer : uint8_t {
    kSuccess,
    kRefused,     // H_PTEG_FULL, H_NOT_FOUND, or no entry for a table walk
    kBusy,        // H_BLOCK_REMOVE: somebody holds the lock
    kOtherBlock,  // H_BLOCK_REMOVE: not in the block of the first entry removed
  };

  int operation = 0;  // in the history
  int thread = 0;
  uint64_t called = 0;
  uint64_t returned = 0;
  int after = -1;  // a step of the pair that takes effect before this one; -1: none

  Kind kind = Kind::kRead;
  int position = 0;

  // Of kChange: which entry, and what becomes of it.
  bool by_hash = false;  // searched for in the group that begins at `position`, then in the other
  std::optional<uint64_t> avpn;      // AVPN test
  std::optional<uint64_t> and_mask;  // ANDCOND test
  Change change = Change::kRemove;
  uint64_t bits = 0;    // of R; for kProtect those in place of the old ones
  uint64_t v_bits = 0;  // that the change sets in V
  // H_BLOCK_REMOVE, which refuses bolted entries.
  bool of_block = false;
  uint64_t ptex = 0;
  // Of an H_BLOCK_REMOVE step behind the first that removed: the blocks one of which is that of the
  // first, which may have been in its primary group or in its secondary.
  std::optional<std::array<uint64_t, 2>> first_block;

  Answer answer = Answer::kSuccess;
  // What the answer tells of the entry (old words of kChange, those of kRead): equal under the
  // masks.
  model::Entry told;
  model::Entry told_mask;
  model::Entry entered;  // kEnter*: what is stored on success
  model::Entry removed;  // kRemove: what is left
  int taken = -1;        // kEnterGroup on success: position

  // Positions where other calls, overlapping in time, excuse a deviation from the order of slots:
  // kEnterGroup: they may have held the lock or an entry there, so that the slot did not look free.
  // By hash: they entered a matching entry there, which may or may not be seen. kBusy: they may
  // have held the lock.
  PositionSet excused = 0;
};

// The state after `step`, or nothing if its answer does not fit `before`. An answer may fit in more
// than one way; `choice` 0..Choices(step) - 1 are these.
int Choices(const PairStep& step);
std::optional<PairState> Apply(const PairStep& step, int choice, const PairState& before);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_PAIR_MODEL_H_
