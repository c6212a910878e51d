// The checker on histories written by hand, where the right verdict is plain to see.

#include "tests/linearizability/checker.h"

#include <vector>

#include "gtest/gtest.h"

namespace papr::linearizability {
namespace {

using model::Entry;
using Answer = PairStep::Answer;
using Kind = PairStep::Kind;

constexpr uint64_t kAll = ~uint64_t{0};
constexpr Entry kA = {0x1001, 0x1010};
constexpr Entry kB = {0x2001, 0x2010};

PairStep Step(Kind kind, int position) {
  PairStep step;
  step.kind = kind;
  step.position = position;
  return step;
}

PairStep During(uint64_t called, uint64_t returned, PairStep step) {
  step.called = called;
  step.returned = returned;
  return step;
}

PairStep EnterAt(int position, const Entry& entry, Answer answer = Answer::kSuccess) {
  PairStep step = Step(Kind::kEnterAt, position);
  step.entered = entry;
  step.taken = position;
  step.answer = answer;
  return step;
}

PairStep EnterGroup(int first, const Entry& entry, int taken) {
  PairStep step = Step(Kind::kEnterGroup, first);
  step.entered = entry;
  step.taken = taken;
  return step;
}

PairStep Full(int first) {
  PairStep step = Step(Kind::kEnterGroup, first);
  step.answer = Answer::kRefused;
  return step;
}

PairStep Read(int position, const Entry& told) {
  PairStep step = Step(Kind::kRead, position);
  step.told = told;
  step.told_mask = {kAll, kAll};
  return step;
}

PairStep Remove(int position, const Entry& told) {
  PairStep step = Step(Kind::kChange, position);
  step.told = told;
  step.told_mask = {kAll, kAll};
  return step;
}

PairStep NotFound(int position) {
  PairStep step = Step(Kind::kChange, position);
  step.answer = Answer::kRefused;
  return step;
}

// A table walk that sets R.
PairStep SetReferenced(int position) {
  PairStep step = Step(Kind::kChange, position);
  step.change = PairStep::Change::kSetBits;
  step.bits = model::kReferenced;
  return step;
}

PairStep HashRemove(int first, uint64_t avpn, const Entry& told) {
  PairStep step = Remove(first, told);
  step.by_hash = true;
  step.avpn = avpn;
  return step;
}

bool Linearizable(const std::vector<PairStep>& steps) {
  const Verdict verdict = Check(steps, Entry{});
  EXPECT_EQ(verdict.linearizable, verdict.order.size() == steps.size());
  return verdict.linearizable;
}

TEST(Checker, NothingIsLinearizable) { EXPECT_TRUE(Linearizable({})); }

TEST(Checker, OneAfterAnother) {
  EXPECT_TRUE(Linearizable({During(0, 1, EnterAt(3, kA)), During(2, 3, Read(3, kA)),
                            During(4, 5, Remove(3, kA)), During(6, 7, NotFound(3))}));
}

TEST(Checker, OverlappingCallsMayComeInAnyOrder) {
  for (const Entry& seen : {Entry{}, kA}) {
    EXPECT_TRUE(Linearizable({During(0, 3, EnterAt(3, kA)), During(1, 2, Read(3, seen))}));
  }
}

TEST(Checker, AStaleReadIsCaught) {
  EXPECT_FALSE(Linearizable({During(0, 1, EnterAt(3, kA)), During(2, 3, Read(3, Entry{}))}));
  // Both reads overlap with the change, but the new value was seen first and then the old one.
  EXPECT_FALSE(Linearizable(
      {During(0, 9, EnterAt(3, kA)), During(1, 2, Read(3, kA)), During(3, 4, Read(3, Entry{}))}));
  EXPECT_TRUE(Linearizable(
      {During(0, 9, EnterAt(3, kA)), During(1, 2, Read(3, Entry{})), During(3, 4, Read(3, kA))}));
}

TEST(Checker, AWordOfOneEntryAndAWordOfAnotherAreCaught) {
  EXPECT_FALSE(Linearizable({During(0, 1, EnterAt(3, kA)), During(2, 9, Remove(3, kA)),
                             During(3, 8, EnterAt(3, kB)), During(4, 7, Read(3, {kA.v, kB.r}))}));
}

TEST(Checker, ALostUpdateIsCaught) {
  const std::vector<PairStep> steps = {During(0, 1, EnterAt(3, kA)), During(2, 5, SetReferenced(3)),
                                       During(3, 4, SetReferenced(3))};
  std::vector<PairStep> lost = steps;
  lost.push_back(During(6, 7, Remove(3, kA)));
  EXPECT_FALSE(Linearizable(lost));
  std::vector<PairStep> kept = steps;
  kept.push_back(During(6, 7, Remove(3, {kA.v, kA.r | model::kReferenced})));
  EXPECT_TRUE(Linearizable(kept));
}

TEST(Checker, OneSlotForTwoIsCaught) {
  EXPECT_FALSE(
      Linearizable({During(0, 3, EnterGroup(0, kA, 0)), During(1, 2, EnterGroup(0, kB, 0))}));
  EXPECT_TRUE(
      Linearizable({During(0, 3, EnterGroup(0, kA, 1)), During(1, 2, EnterGroup(0, kB, 0))}));
  // Not in this order, for the second was called when the first had returned.
  EXPECT_FALSE(
      Linearizable({During(0, 1, EnterGroup(0, kA, 1)), During(2, 3, EnterGroup(0, kB, 0))}));
}

TEST(Checker, OneEntryRemovedTwiceIsCaught) {
  EXPECT_FALSE(Linearizable(
      {During(0, 1, EnterAt(3, kA)), During(2, 5, Remove(3, kA)), During(3, 4, Remove(3, kA))}));
  EXPECT_TRUE(Linearizable(
      {During(0, 1, EnterAt(3, kA)), During(2, 5, NotFound(3)), During(3, 4, Remove(3, kA))}));
}

// Eight valid entries, one after another, but never at once.
TEST(Checker, AGroupThatWasNeverFullIsNotFull) {
  std::vector<PairStep> steps;
  for (int slot = 0; slot < 7; ++slot) steps.push_back(During(0, 1, EnterAt(slot, kA)));
  std::vector<PairStep> never = steps;
  never.push_back(During(2, 9, Full(0)));
  never.push_back(During(3, 4, Remove(0, kA)));
  never.push_back(During(5, 6, EnterAt(7, kB)));
  EXPECT_FALSE(Linearizable(never));
  std::vector<PairStep> once = steps;
  once.push_back(During(2, 9, Full(0)));
  once.push_back(During(3, 6, Remove(0, kA)));
  once.push_back(During(4, 5, EnterAt(7, kB)));
  EXPECT_TRUE(Linearizable(once));
}

TEST(Checker, AHigherSlotNeedsAnExcuse) {
  PairStep step = During(0, 1, EnterGroup(0, kA, 2));
  EXPECT_FALSE(Linearizable({step}));
  step.excused = At(0) | At(1);
  EXPECT_TRUE(Linearizable({step}));
  step.excused = At(1);
  EXPECT_FALSE(Linearizable({step}));
}

// The search goes by slots, primary group first, past what came in while it was under way.
TEST(Checker, ASearchByHashTakesTheFirst) {
  constexpr Entry kSecondary = {kA.v | model::kSecondary, 0x3010};
  constexpr Entry kAgain = {kA.v, 0x4010};
  const auto finds = [&](const Entry& entry, PositionSet excused) {
    PairStep search = During(6, 7, HashRemove(0, 0x1000, entry));
    search.excused = excused;
    return Linearizable({During(0, 1, EnterAt(8, kSecondary)), During(2, 3, EnterAt(5, kA)),
                         During(4, 5, EnterAt(2, kAgain)), search});
  };
  EXPECT_TRUE(finds(kAgain, 0));
  EXPECT_FALSE(finds(kA, 0));
  EXPECT_TRUE(finds(kA, At(2)));
  EXPECT_FALSE(finds(kSecondary, At(2)));
  EXPECT_TRUE(finds(kSecondary, At(2) | At(5)));
}

TEST(Checker, ABatchKeepsItsOrder) {
  std::vector<PairStep> steps = {During(0, 9, EnterAt(3, kA)), During(0, 9, NotFound(3))};
  EXPECT_TRUE(Linearizable(steps));
  steps[1].after = 0;
  EXPECT_FALSE(Linearizable(steps));
}

TEST(Checker, KeepsTheLongestBeginning) {
  const Verdict verdict =
      Check({During(0, 1, EnterAt(3, kA)), During(2, 3, Remove(3, kB))}, Entry{});
  EXPECT_FALSE(verdict.linearizable);
  EXPECT_EQ(verdict.order, std::vector<int>{0});
  EXPECT_EQ(verdict.state.entries[3], kA);
}

// Forty changes at once that fit in any order, then a read that never fits: without the cache 40!
// orders would be tried, and without the rule for looks 2^40 sets of them.
TEST(Checker, ManyAtOnceAreNoTrouble) {
  std::vector<PairStep> steps;
  for (int i = 0; i < 40; ++i) steps.push_back(During(0, 1, NotFound(i % 16)));
  for (int i = 0; i < 10; ++i) steps.push_back(During(0, 1, EnterAt(i, kA)));
  EXPECT_TRUE(Linearizable(steps));
  steps.push_back(During(2, 3, Read(0, kB)));
  EXPECT_FALSE(Linearizable(steps));
}

}  // namespace
}  // namespace papr::linearizability
