#include "tests/linearizability/run_histories.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/linearizability/checker.h"
#include "tests/linearizability/split.h"
#include "tests/linearizability/workload.h"

namespace papr::linearizability {
namespace {

constexpr uint64_t kGroupMask = 0x7ff;  // order 18

TableShape ShapeOf(const HistoryKind& kind) {
  return {.group_mask = kGroupMask, .qemu = kind.profile == hcall::Profile::kQemuTcg};
}

std::string ExplainPair(const History& history, uint64_t pair, const std::vector<PairStep>& steps,
                        const Verdict& verdict) {
  std::string out = absl::StrFormat(
      "no order explains what happened to the groups 0x%x and 0x%x; the longest beginning of one "
      "(thread [called,returned] call = answer):\n",
      pair, ~pair & kGroupMask);
  std::set<int> ordered;
  int last = -1;
  for (const int step : verdict.order) {
    ordered.insert(step);
    const int operation = steps[step].operation;
    if (operation != last) absl::StrAppend(&out, "  ", Describe(history[operation]), "\n");
    last = operation;
  }
  absl::StrAppend(&out, "leads to\n");
  for (int position = 0; position < kPairEntries; ++position) {
    const model::Entry& entry = verdict.state.entries[position];
    absl::StrAppend(&out, absl::StrFormat("  ptex 0x%x: %#x %#x\n",
                                          PtexOf({pair, position}, kGroupMask), entry.v, entry.r));
  }
  absl::StrAppend(&out, "and leaves\n");
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    if (ordered.contains(i)) continue;
    absl::StrAppend(
        &out, "  ", Describe(history[steps[i].operation]),
        absl::StrFormat(" (at ptex 0x%x)\n", PtexOf({pair, steps[i].position}, kGroupMask)));
  }
  return out;
}

bool Overlap(const Operation& one, const Operation& other) {
  return one.thread != other.thread && one.called < other.returned && other.called < one.returned;
}

// The one entry that an operation names; nothing if there is no such.
std::optional<uint64_t> EntryOf(const Operation& operation) {
  if (operation.walk.has_value()) return operation.walk->ptex;
  switch (operation.request.opcode) {
    case hcall::kHEnter:
      if (operation.result.return_code != hcall::kHSuccess) return std::nullopt;
      return operation.result.registers[0];
    case hcall::kHRead:
    case hcall::kHRemove:
    case hcall::kHProtect:
    case hcall::kHClearRef:
    case hcall::kHClearMod:
      return operation.request.registers[1];
    default:
      return std::nullopt;
  }
}

void CountOverlaps(const History& history, Totals& totals) {
  for (auto one = history.begin(); one != history.end(); ++one) {
    for (auto other = history.begin(); other != one; ++other) {
      if (!Overlap(*one, *other)) continue;
      ++totals.overlaps;
      const auto entry = EntryOf(*one);
      if (entry.has_value() && entry == EntryOf(*other)) ++totals.entry_overlaps;
    }
  }
}

}  // namespace

History RecordHistory(uint64_t seed, const HistoryKind& kind) {
  Workload workload(seed, kind.profile);
  const auto partition = MakePartition(kind.profile);
  std::atomic<uint64_t> clock{0};
  History history;

  Recorder setup(*partition, clock, -1);
  for (const Action& action : workload.Setup()) setup.Run(action);
  setup.MoveTo(history);

  std::vector<std::vector<Action>> actions(workload.threads());
  std::vector<Recorder> recorders;
  for (int i = 0; i < workload.threads(); ++i) {
    recorders.emplace_back(*partition, clock, i);
    for (uint64_t n = 0; n < workload.actions(); ++n) actions[i].push_back(workload.Next());
  }
  Schedule schedule(kind.mode, seed);
  schedule.Run(workload.threads(), absl::StrCat("the history of seed ", seed), [&](int thread) {
    for (const Action& action : actions[thread]) {
      Schedule::Yield(mmu::YieldPointKind::kStep);
      recorders[thread].Run(action);
    }
  });
  for (Recorder& recorder : recorders) recorder.MoveTo(history);

  Recorder readout(*partition, clock, -1);
  for (const Action& action : workload.Readout()) readout.Run(action);
  readout.MoveTo(history);
  return history;
}

std::string Explain(const History& history, const HistoryKind& kind) {
  const TableShape shape = ShapeOf(kind);
  const auto pairs = Split(history, shape);
  if (!pairs.ok()) return std::string(pairs.status().message());
  const model::Entry ground{shape.qemu ? model::kDirty : 0, 0};
  for (const auto& [pair, steps] : *pairs) {
    const Verdict verdict = Check(steps, ground);
    if (!verdict.linearizable) return ExplainPair(history, pair, steps, verdict);
  }
  return "";
}

Totals RunHistories(uint64_t seed, uint64_t histories, const HistoryKind& kind) {
  Totals totals;
  while (totals.histories < histories && totals.violations == 0) {
    const uint64_t history_seed = seed + totals.histories++;
    const History history = RecordHistory(history_seed, kind);
    totals.operations += history.size();
    CountOverlaps(history, totals);
    const std::string violation = Explain(history, kind);
    if (violation.empty()) continue;
    ++totals.violations;
    totals.violation_seed = history_seed;
    totals.violation = violation;
  }
  return totals;
}

std::ostream& operator<<(std::ostream& out, const Totals& totals) {
  return out << totals.histories << " histories, " << totals.operations << " operations, "
             << totals.overlaps << " pairs of operations overlapped in time, "
             << totals.entry_overlaps << " of them on one entry; " << totals.violations
             << " violations";
}

}  // namespace papr::linearizability
