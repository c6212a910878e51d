#include "tests/conformance/qemu/shrink.h"

#include <algorithm>
#include <utility>

namespace papr::conformance {
namespace {

// One pass from the end, where the fault shows. True if anything could be left out.
bool DropRuns(DifferentialSteps& steps, size_t length, Fails fails) {
  bool dropped = false;
  for (size_t end = steps.size(); end > 0;) {
    const size_t begin = end - std::min(length, end);
    DifferentialSteps rest(steps.begin(), steps.begin() + begin);
    rest.insert(rest.end(), steps.begin() + end, steps.end());
    if (fails(rest)) {
      steps = std::move(rest);
      dropped = true;
    }
    end = begin;
  }
  return dropped;
}

void ZeroRegisters(DifferentialSteps& steps, Fails fails) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!std::holds_alternative<hcall::HcallRequest>(steps[i])) continue;
    for (size_t k = 0; k < hcall::kRegisterCount; ++k) {
      DifferentialSteps changed = steps;
      uint64_t& value = std::get<hcall::HcallRequest>(changed[i]).registers[k];
      if (std::exchange(value, 0) != 0 && fails(changed)) steps = std::move(changed);
    }
  }
}

DifferentialSteps StepsOf(const ReplayResult& replay) {
  DifferentialSteps steps;
  for (const StepRecord& record : replay.records) steps.push_back(record.step);
  return steps;
}

DifferentialSteps WithSlots(const ReplayResult& replay) {
  DifferentialSteps steps;
  for (const StepRecord& record : replay.records) {
    steps.push_back(record.step);
    auto* request = std::get_if<hcall::HcallRequest>(&steps.back());
    if (request == nullptr || request->opcode != hcall::kHEnter || record.reference.empty() ||
        record.reference[0].return_code != hcall::kHSuccess) {
      continue;
    }
    request->registers[0] |= hcall::kFlagExact;
    request->registers[1] = record.reference[0].registers[0];
  }
  return steps;
}

}  // namespace

DifferentialSteps Shrink(DifferentialSteps steps, Fails fails) {
  for (size_t length = steps.size() / 2; length > 1; length /= 2) DropRuns(steps, length, fails);
  while (DropRuns(steps, 1, fails)) {
  }
  ZeroRegisters(steps, fails);
  return steps;
}

ReplayResult ShortestDifference(const hcall::PartitionConfig& config, const MachinePair& machines,
                                const DifferentialSteps& steps) {
  const auto fails = [&](const DifferentialSteps& some) {
    return !Replay(config, machines, some).difference.empty();
  };
  // One at a time, so that a machine that ends does so in the step that says so.
  const ReplayResult whole = Replay(config, machines, steps, 1);
  if (whole.difference.empty()) return whole;
  const DifferentialSteps with_slots = WithSlots(whole);
  const DifferentialSteps shortest = Shrink(fails(with_slots) ? with_slots : StepsOf(whole), fails);
  return Replay(config, machines, shortest, 1);
}

}  // namespace papr::conformance
