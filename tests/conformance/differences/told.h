// What a column tells of one step of a case, and whether two columns disagree.

#ifndef TESTS_CONFORMANCE_DIFFERENCES_TOLD_H_
#define TESTS_CONFORMANCE_DIFFERENCES_TOLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "client/conformance/runner.h"
#include "client/conformance/script.h"

namespace papr::conformance {

struct Told {
  bool open = false;   // nothing is promised
  bool crash = false;  // the implementation does not survive
  bool none = false;   // the implementation has no such thing
  std::set<int64_t> codes;
  std::map<int, std::set<uint64_t>> registers;  // R4 is 0; only those that matter
  std::set<int> same;                           // those of them that only must keep the argument
  uint64_t ignored = 0;  // bits that are not compared: QEMU's software bit, where it is no point

  // "H_SUCCESS r4=0x1f81"; "open"; "crash"; "does not have it". Of the registers that only must
  // keep their argument, those in `named`. `step` says what kind of step it is of.
  std::string Text(const Step& step, const std::set<int>& named) const;
};

// Nothing: the step expects nothing. An "expect entry" tells of R4 and R5, a count of R4.
std::optional<Told> Tell(const Step& step);

// What was answered to a step of which `told` is told.
Told ToldBy(const Answer& answer, const Told& told);

// True if no answer satisfies both.
bool Disagree(const Told& a, const Told& b);

// The step in numbers: "H_ENTER flags=0x8000000000 ptex=0x3ff0 ..." or "entry 0x3ff0".
std::string StepText(const Step& step);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_DIFFERENCES_TOLD_H_
