#include "tests/linearizability/checker.h"

#include <array>
#include <list>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace papr::linearizability {
namespace {

// Steps put in order so far, bit by bit.
using StepSet = std::array<uint64_t, kMaxSteps / 64>;

bool Contains(const StepSet& set, int step) { return ((set[step / 64] >> (step % 64)) & 1) != 0; }
void Flip(StepSet& set, int step) { set[step / 64] ^= uint64_t{1} << (step % 64); }

class Searcher {
 public:
  Searcher(const std::vector<PairStep>& steps, const model::Entry& ground)
      : steps_(steps), return_of_(steps.size()) {
    state_.entries.fill(ground);
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      events_.push_back({steps[i].called, i, false});
      events_.push_back({steps[i].returned, i, true});
    }
    // The steps of one operation share their times, which no other operation has.
    events_.sort([](const Event& one, const Event& other) {
      return std::pair(one.time, one.is_return) < std::pair(other.time, other.is_return);
    });
    for (auto event = events_.begin(); event != events_.end(); ++event) {
      if (event->is_return) return_of_[event->step] = event;
    }
  }

  Verdict Run() {
    auto event = events_.begin();
    int choice = 0;
    while (!events_.empty()) {
      if (event != events_.end() && !event->is_return) {
        if (Advance(event, choice)) {
          event = events_.begin();
        } else {
          ++event;
        }
        choice = 0;
        continue;
      }
      // A step returned that fits nowhere: take the last change of the state back, and go on
      // behind.
      bool back = false;
      while (!back) {
        if (trail_.empty()) return std::move(best_);
        const Move move = TakeBack();
        back = !LooksOnly(move.event->step);
        event = move.event;
        choice = move.choice + 1;
      }
    }
    best_.linearizable = true;
    return std::move(best_);
  }

 private:
  struct Event {
    uint64_t time;
    int step;
    bool is_return;
  };
  using Place = std::list<Event>::iterator;

  // A step that was put in order, and what takes it back.
  struct Move {
    Place event;     // its call, out of the list
    Place next;      // that stood behind it
    Place returned;  // its return, out of the list
    Place after_returned;
    int choice;
    PairState before;
  };

  // Puts the step called at `event` next in the order, in the first way from `choice` on that was
  // not tried yet. False: there is none.
  bool Advance(Place event, int choice) {
    const PairStep& step = steps_[event->step];
    if (step.after >= 0 && !Contains(done_, step.after)) return false;
    for (; choice < Choices(step); ++choice) {
      const std::optional<PairState> after = Apply(step, choice, state_);
      if (!after.has_value()) continue;
      Flip(done_, event->step);
      if (tried_.emplace(done_, *after).second) {
        Commit(event, choice, *after);
        return true;
      }
      Flip(done_, event->step);
    }
    return false;
  }

  void Commit(Place event, int choice, const PairState& after) {
    Move move{event, std::next(event), return_of_[event->step], {}, choice, state_};
    out_.splice(out_.end(), events_, move.event);
    move.after_returned = std::next(move.returned);
    out_.splice(out_.end(), events_, move.returned);
    trail_.push_back(std::move(move));
    state_ = after;
    if (trail_.size() > best_.order.size()) {
      best_.order.clear();
      for (const Move& made : trail_) best_.order.push_back(made.event->step);
      best_.state = state_;
    }
  }

  // Takes the last move back.
  Move TakeBack() {
    Move move = std::move(trail_.back());
    trail_.pop_back();
    events_.splice(move.after_returned, out_, move.returned);
    events_.splice(move.next, out_, move.event);
    Flip(done_, move.event->step);
    state_ = move.before;
    return move;
  }

  // A step that can leave the state as it is only. Where it fits it may as well come at once: in no
  // order does it make a difference to the others.
  bool LooksOnly(int step) const {
    return steps_[step].kind == PairStep::Kind::kRead ||
           steps_[step].answer != PairStep::Answer::kSuccess;
  }

  const std::vector<PairStep>& steps_;
  std::list<Event> events_;  // of the steps that are not in the order yet
  std::list<Event> out_;     // of the others
  std::vector<Place> return_of_;
  StepSet done_{};
  PairState state_;
  std::vector<Move> trail_;
  absl::flat_hash_set<std::pair<StepSet, PairState>> tried_;
  Verdict best_;
};

}  // namespace

Verdict Check(const std::vector<PairStep>& steps, const model::Entry& ground) {
  return Searcher(steps, ground).Run();
}

}  // namespace papr::linearizability
