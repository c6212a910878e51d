#include "tests/linearizability/split.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace papr::linearizability {
namespace {

using model::Entry;
using Answer = PairStep::Answer;
using Change = PairStep::Change;
using Kind = PairStep::Kind;

constexpr uint64_t kAllBits = ~uint64_t{0};
constexpr uint64_t kBulkOperand = 0x00ffffffffffffff;
constexpr uint64_t kBlockOperand = 0x0000ffffffffffff;
constexpr uint64_t kRequestType = 1;

// A word with `control` as its byte 0 and `operand` below it.
uint64_t Specifier(uint64_t control, uint64_t operand) { return (control << 56) | operand; }

// Takes one operation apart.
class Splitter {
 public:
  Splitter(const History& history, size_t index, const TableShape& shape, PairHistories& pairs)
      : operation_(history[index]), index_(static_cast<int>(index)), shape_(shape), pairs_(pairs) {}

  absl::Status Split() {
    if (operation_.walk.has_value()) {
      SplitWalk();
      return absl::OkStatus();
    }
    expected_ = in();
    SplitHcall();
    if (wrong_.empty() && operation_.result.registers != expected_) wrong_ = "a register is wrong";
    if (wrong_.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(Describe(operation_), ": ", wrong_));
  }

 private:
  const hcall::Registers& in() const { return operation_.request.registers; }
  const hcall::Registers& out() const { return operation_.result.registers; }

  PairStep NewStep(Kind kind) const {
    PairStep step;
    step.operation = index_;
    step.thread = operation_.thread;
    step.called = operation_.called;
    step.returned = operation_.returned;
    step.kind = kind;
    step.removed = {shape_.qemu ? model::kDirty : 0, 0};
    return step;
  }

  void Add(uint64_t group_or_ptex, PairStep step) {
    const Place place = PlaceOf(group_or_ptex, shape_.group_mask);
    step.position = place.position;
    pairs_[place.pair].push_back(std::move(step));
  }

  void SplitWalk() {
    PairStep step = NewStep(Kind::kChange);
    step.change = Change::kSetBits;
    step.bits = (operation_.walk->referenced ? model::kReferenced : 0) |
                (operation_.walk->changed ? model::kChanged : 0);
    step.answer = operation_.walk_found ? Answer::kSuccess : Answer::kRefused;
    Add(operation_.walk->ptex, step);
  }

  void SplitHcall() {
    switch (operation_.request.opcode) {
      case hcall::kHEnter:
        return Enter();
      case hcall::kHRead:
        return Read();
      case hcall::kHRemove:
      case hcall::kHHashRemove:
        return Remove(operation_.request.opcode == hcall::kHHashRemove);
      case hcall::kHProtect:
      case hcall::kHHashProtect:
        return Protect(operation_.request.opcode == hcall::kHHashProtect);
      case hcall::kHClearRef:
        return Clear(model::kReferenced);
      case hcall::kHClearMod:
        return Clear(model::kChanged);
      case hcall::kHBulkRemove:
      case hcall::kHHashBulkRemove:
        return BulkRemove(operation_.request.opcode == hcall::kHHashBulkRemove);
      case hcall::kHBlockRemove:
        return BlockRemove();
      default:
        wrong_ = "not a call of the workload";
    }
  }

  // The answer of a call that succeeds with `outputs` registers or is refused with `refusal`.
  Answer AnswerOf(int64_t refusal, int outputs) {
    const hcall::HcallResult& result = operation_.result;
    if (result.return_code == hcall::kHSuccess) {
      if (result.output_count != outputs) wrong_ = "the number of outputs is wrong";
      return Answer::kSuccess;
    }
    if (result.return_code != refusal || result.output_count != 0) wrong_ = "the code is wrong";
    return Answer::kRefused;
  }

  void Enter() {
    const auto [flags, ptex, v, r] = std::tuple(in()[0], in()[1], in()[2], in()[3]);
    const bool exact = (flags & hcall::kFlagExact) != 0;
    PairStep step = NewStep(exact ? Kind::kEnterAt : Kind::kEnterGroup);
    step.entered = shape_.qemu ? Entry{(v & ~model::kHypervisorBits) | model::kDirty, r}
                               : Entry{(v & ~model::kHypervisorBits) | model::kPresent,
                                       r & ~model::kHypervisorR};
    step.answer = AnswerOf(hcall::kHPtegFull, 1);
    const uint64_t target = exact ? ptex : ptex & ~uint64_t{7};
    if (step.answer == Answer::kSuccess) {
      expected_[0] = out()[0];
      if (exact ? out()[0] != ptex : (out()[0] & ~uint64_t{7}) != target) {
        wrong_ = "the slot is not one that was asked for";
        return;
      }
      step.taken = PlaceOf(out()[0], shape_.group_mask).position;
    }
    Add(target, step);
  }

  void Read() {
    const bool four = (in()[0] & hcall::kFlagRead4) != 0;
    const uint64_t first = four ? in()[1] & ~uint64_t{3} : in()[1];
    const uint64_t count = four ? 4 : 1;
    AnswerOf(hcall::kHSuccess, static_cast<int>(2 * count));
    for (uint64_t i = 0; i < count; ++i) {
      PairStep step = NewStep(Kind::kRead);
      step.told = {out()[2 * i], out()[2 * i + 1]};
      step.told_mask = {kAllBits, kAllBits};
      expected_[2 * i] = step.told.v;
      expected_[2 * i + 1] = step.told.r;
      Add(first + i, step);
    }
  }

  // A change of the entry that R5 names: by its ptex, or by the hash.
  void AddChange(PairStep step, uint64_t ptex_or_hash, bool by_hash) {
    step.by_hash = by_hash;
    const uint64_t first = (ptex_or_hash & shape_.group_mask) * model::kSlots;
    Add(by_hash ? first : ptex_or_hash, std::move(step));
  }

  void Remove(bool by_hash) {
    const uint64_t flags = in()[0];
    PairStep step = NewStep(Kind::kChange);
    if ((flags & hcall::kFlagAvpn) != 0) step.avpn = in()[2];
    if ((flags & hcall::kFlagAndCond) != 0) step.and_mask = in()[by_hash ? 3 : 2];
    step.answer = AnswerOf(hcall::kHNotFound, 2);
    if (step.answer == Answer::kSuccess) {
      step.told = {out()[0], out()[1]};
      step.told_mask = {kAllBits, kAllBits};
      expected_[0] = step.told.v;
      expected_[1] = step.told.r;
    }
    AddChange(step, in()[1], by_hash);
  }

  void Protect(bool by_hash) {
    const uint64_t flags = in()[0];
    PairStep step = NewStep(Kind::kChange);
    if ((flags & hcall::kFlagAvpn) != 0) step.avpn = in()[2];
    step.change = Change::kProtect;
    step.bits = ((flags << 55) & 0x8000000000000000) | ((flags << 48) & 0x3000000000000000) |
                (flags & 0xe07);
    step.v_bits = shape_.qemu ? model::kDirty : 0;
    step.answer = AnswerOf(hcall::kHNotFound, 0);
    AddChange(step, in()[1], by_hash);
  }

  void Clear(uint64_t bit) {
    PairStep step = NewStep(Kind::kChange);
    step.change = Change::kClearBits;
    step.bits = bit;
    step.answer = AnswerOf(hcall::kHNotFound, 1);
    if (step.answer == Answer::kSuccess) {
      step.told.r = expected_[0] = out()[0];
      step.told_mask.r = kAllBits;
    }
    Add(in()[1], step);
  }

  void BulkRemove(bool by_hash) {
    const int rc_shift = shape_.qemu && !by_hash ? 43 : 51;
    AnswerOf(hcall::kHSuccess, 8);
    std::map<uint64_t, int> last;  // step of this call, by pair
    for (int i = 0; i < 4 && in()[2 * i] >> 62 == kRequestType; ++i) {
      const uint64_t modifier = (in()[2 * i] >> 56) & 3;
      const uint64_t operand = in()[2 * i] & kBulkOperand;
      PairStep step = NewStep(Kind::kChange);
      if (modifier == 1) step.and_mask = in()[2 * i + 1];
      if (modifier == 2) step.avpn = in()[2 * i + 1];
      const uint64_t not_found = Specifier(0x90 | modifier, operand);
      const uint64_t success = Specifier(0x80 | modifier, operand);
      const uint64_t response = out()[2 * i];
      step.answer = response == not_found ? Answer::kRefused : Answer::kSuccess;
      if (step.answer == Answer::kSuccess) {
        step.told_mask.r = model::kReferenced | model::kChanged;
        step.told.r = ((response ^ success) >> rc_shift) & step.told_mask.r;
      }
      expected_[2 * i] =
          step.answer == Answer::kRefused ? not_found : success ^ (step.told.r << rc_shift);
      const uint64_t group = by_hash ? operand & shape_.group_mask : operand / model::kSlots;
      const uint64_t pair = PlaceOf(group * model::kSlots, shape_.group_mask).pair;
      if (last.contains(pair)) step.after = last[pair];
      AddChange(step, operand, by_hash);
      last[pair] = static_cast<int>(pairs_[pair].size()) - 1;
    }
  }

  void BlockRemove() {
    std::optional<std::array<uint64_t, 2>> first_block;
    bool removed = false;
    bool partial = false;
    for (int i = 0; i < 8; ++i) expected_[i] = in()[i + 1];
    for (int i = 0; i < 8 && in()[i + 1] >> 62 == kRequestType; ++i) {
      const bool test_avpn = ((in()[i + 1] >> 56) & 1) != 0;
      PairStep step = NewStep(Kind::kChange);
      step.of_block = true;
      step.ptex = in()[i + 1] & kBlockOperand;
      if (test_avpn) step.avpn = in()[0];
      step.first_block = first_block;
      const uint64_t code = (out()[i] >> 59) & 7;
      expected_[i] = Specifier(0x80 | (code << 3) | (test_avpn ? 1 : 0), step.ptex);
      if (!ReadBlockCode(code, removed, step)) return;
      if (step.answer == Answer::kSuccess) {
        step.told_mask.r = model::kReferenced | model::kChanged;
        step.told.r = (out()[i] >> 50) & step.told_mask.r;
        expected_[i] |= step.told.r << 50;
        if (!removed && test_avpn) {
          first_block = {BlockOf4K(in()[0], step.ptex),
                         BlockOf4K(in()[0] | model::kSecondary, step.ptex)};
        }
        removed = true;
      }
      partial = partial || code != 0;
      Add(step.ptex, step);
    }
    const auto& result = operation_.result;
    if (result.return_code != (partial ? hcall::kHPartial : hcall::kHSuccess) ||
        result.output_count != 8) {
      wrong_ = "the code is wrong";
    }
  }

  bool ReadBlockCode(uint64_t code, bool removed_before, PairStep& step) {
    switch (code) {
      case 0:
        step.answer = Answer::kSuccess;
        return true;
      case 1:
        step.answer = Answer::kRefused;
        return true;
      case 4:
        step.answer = Answer::kBusy;
        return true;
      case 5:
        step.answer = Answer::kOtherBlock;
        if (removed_before) return true;
        break;
      default:
        break;
    }
    wrong_ = "a response is wrong";
    return false;
  }

  const Operation& operation_;
  const int index_;
  const TableShape shape_;
  PairHistories& pairs_;
  hcall::Registers expected_{};
  std::string wrong_;
};

// Positions that `step` may change, or lock while no entry is there.
PositionSet Touches(const std::vector<PairStep>& steps, const PairStep& step) {
  if (step.kind == Kind::kEnterGroup) {
    return step.answer == Answer::kSuccess ? At(step.taken) : 0;
  }
  if (!step.by_hash) return At(step.position);
  PositionSet matching = 0;  // wherever such an entry ever was
  for (const PairStep& other : steps) {
    if (other.taken >= 0 && ((other.entered.v ^ *step.avpn) & ~uint64_t{0x7f}) == 0) {
      matching |= At(other.taken);
    }
  }
  return matching;
}

// Positions that `step` may lock.
PositionSet Locks(const std::vector<PairStep>& steps, const PairStep& step) {
  if (step.kind != Kind::kEnterGroup) return Touches(steps, step);
  PositionSet group = 0;
  for (int slot = 0; slot < model::kSlots; ++slot) group |= At(step.position + slot);
  return group;
}

bool Overlap(const PairStep& one, const PairStep& other) {
  return one.called < other.returned && other.called < one.returned;
}

// Fills in PairStep::excused.
void Excuse(std::vector<PairStep>& steps) {
  for (PairStep& step : steps) {
    const bool busy = step.answer == Answer::kBusy;
    const bool taken = step.kind == Kind::kEnterGroup && step.answer == Answer::kSuccess;
    if (!busy && !taken && !step.by_hash) continue;
    for (const PairStep& other : steps) {
      if (&other == &step || !Overlap(step, other)) continue;
      // The specifiers of one H_BLOCK_REMOVE meet each other's locks; nothing else of one thread
      // overlaps.
      if (other.thread == step.thread && !(busy && other.operation == step.operation)) continue;
      if (!step.by_hash) {
        step.excused |= busy ? Locks(steps, other) : Touches(steps, other);
      } else if (other.taken >= 0 && ((other.entered.v ^ *step.avpn) & ~uint64_t{0x7f}) == 0) {
        step.excused |= At(other.taken);
      }
    }
  }
}

// Batches take effect in order: the first step of an operation on a pair comes after the last one
// of the operation before it.
void OrderBatches(const History& history, std::vector<PairStep>& steps) {
  std::map<int, std::pair<int, int>> by_operation;  // first and last step
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const auto [at, fresh] = by_operation.try_emplace(steps[i].operation, i, i);
    if (!fresh) at->second.second = i;
  }
  for (const auto& [operation, first_and_last] : by_operation) {
    int before = history[operation].after;
    while (before >= 0 && !by_operation.contains(before)) before = history[before].after;
    if (before >= 0) steps[first_and_last.first].after = by_operation[before].second;
  }
}

}  // namespace

absl::StatusOr<PairHistories> Split(const History& history, const TableShape& shape) {
  PairHistories pairs;
  for (size_t i = 0; i < history.size(); ++i) {
    if (absl::Status status = Splitter(history, i, shape, pairs).Split(); !status.ok()) {
      return status;
    }
  }
  for (auto& [pair, steps] : pairs) {
    OrderBatches(history, steps);
    Excuse(steps);
  }
  return pairs;
}

}  // namespace papr::linearizability
