#include "tests/conformance/differences/difference_table.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/conformance/column.h"
#include "tests/conformance/differences/told.h"

namespace papr::conformance {
namespace {

// One case in all columns.
struct CaseInColumns {
  std::string name;
  std::set<Column> columns;    // that have it
  std::vector<StepKey> steps;  // in order, of any column
  struct StepTold {
    Step step;
    Told told;
  };
  std::map<StepKey, std::map<Column, StepTold>> told;
};

void AddColumn(const Case& test_case, Column column, CaseInColumns* all) {
  all->name = test_case.name;
  all->columns.insert(column);
  StepKeys keys;
  for (const Step& step : test_case.steps) {
    std::optional<Told> told = Tell(step);
    if (!told) continue;
    StepKey key = keys.Next(step.text);
    if (!all->told.contains(key)) all->steps.push_back(key);
    all->told[std::move(key)].emplace(column, CaseInColumns::StepTold{step, *std::move(told)});
  }
}

// Do two columns tell different things of a step?
bool Disagree(const std::map<Column, CaseInColumns::StepTold>& told) {
  for (const auto& [column, one] : told) {
    for (const auto& [other_column, other] : told) {
      if (Disagree(one.told, other.told)) return true;
    }
  }
  return false;
}

constexpr char kHeading[] =
    "| case | step | PAPR (told) | KVM-HV (told) | QEMU (live) | hptd `kvm-hv` | hptd `qemu-tcg` | "
    "vectors |\n|---|---|---|---|---|---|---|---|\n";

// The N of a case named "14 row N: ...", or 0.
int PointOf(const std::string& name) {
  int point = 0;
  const size_t at = name.find("14 row ");
  if (at != std::string::npos) std::sscanf(name.c_str() + at, "14 row %d", &point);
  return point;
}

std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(text.empty() ? "-" : text, {{"|", "\\|"}});
}

class Document {
 public:
  Document(const std::vector<ScriptFile>& files, const Runs& runs) : files_(files), runs_(runs) {}

  absl::StatusOr<std::string> Write() {
    for (const RunRecord* run : {&runs_.kvm_hv, &runs_.qemu_tcg, &runs_.qemu}) {
      if (run->failed == 0) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(run->failed, " cases failed on ", run->target));
    }
    WriteHead();
    for (const ScriptFile& file : files_) {
      if (absl::Status status = MakeRows(file); !status.ok()) return status;
    }
    WriteRows();
    if (absl::Status status = WriteDefects(); !status.ok()) return status;
    WriteRuns();
    return std::move(text_);
  }

 private:
  struct Row {
    int point = 0;                   // of the list in COVERAGE.md; 0: none
    std::string name;                // of the case
    int more = 0;                    // cases that follow with the same cells
    std::vector<std::string> cells;  // all but the first column
  };

  void WriteHead() {
    text_ = R"(# Where the standard and real hypervisors disagree

Made from the conformance vectors and from runs of them by `tests/conformance/differences/run.sh --refresh`; a
test fails when it is stale. Do not edit.

PAPR and KVM-HV: what the vectors tell (KVM-HV of Linux 6.1; what its own hypercall code answered is recorded,
and replayed by `tests/conformance/replay/`). QEMU: what a live QEMU answered or, in parentheses, what the vectors
tell where it cannot be made so. hptd: what it answered, in each profile. "open": nothing is promised. "-":
the profile has no such case. QEMU's software bit 0x40 is a difference only where it is the point.

## Points

One row for each point in which PAPR, Linux KVM-HV and QEMU do not all answer the same ("14 row N" of
`tests/conformance/vectors/COVERAGE.md`): a vector, its first step in which they differ, and the answers.

)";
  }

  absl::Status MakeRows(const ScriptFile& file) {
    std::map<int, CaseInColumns> cases;  // by line
    for (const Column column : kColumns) {
      absl::StatusOr<Script> script = ParseScript(file.text, column);
      if (!script.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", script.status().message()));
      }
      defects_.merge(script->defects);
      for (const Case& each : script->cases) AddColumn(each, column, &cases[each.line]);
    }
    for (auto& [line, each] : cases) {
      AddAbsent(&each);
      MakeRow(file.name, line, each);
    }
    return absl::OkStatus();
  }

  // An implementation that has no such thing as a case of its profile shows.
  static void AddAbsent(CaseInColumns* one) {
    for (const Column column : {Column::kKvm, Column::kQemu}) {
      if (one->columns.contains(column) || !one->columns.contains(ProfileOf(column))) continue;
      for (auto& [key, told] : one->told) {
        const auto of_profile = told.find(ProfileOf(column));
        if (of_profile == told.end()) continue;
        Told none;
        none.none = true;
        told.emplace(column, CaseInColumns::StepTold{of_profile->second.step, std::move(none)});
      }
    }
  }

  void MakeRow(const std::string& file, int line, const CaseInColumns& one) {
    std::vector<const StepKey*> disputed;
    for (const StepKey& step : one.steps) {
      if (Disagree(one.told.at(step))) disputed.push_back(&step);
    }
    if (disputed.empty()) return;
    const StepKey& key = *disputed.front();
    const auto& told = one.told.at(key);
    const Step& step = told.begin()->second.step;
    std::set<int> named;  // registers that some column tells of
    for (const auto& [column, each] : told) {
      for (const auto& [index, values] : each.told.registers) {
        if (!each.told.same.contains(index)) named.insert(index);
      }
    }
    const auto of_column = [&](Column column) {
      const auto it = told.find(column);
      return it == told.end() ? std::string() : it->second.told.Text(step, named);
    };
    const auto of_run = [&](const RunRecord& run, Column column) {
      const auto expected = told.find(column);
      const auto answer = run.answers.find({file, line, key});
      if (expected == told.end() || answer == run.answers.end()) return std::string();
      return ToldBy(answer->second, expected->second.told).Text(step, named);
    };
    std::string qemu = of_run(runs_.qemu, Column::kQemu);
    if (qemu.empty() && told.contains(Column::kQemu)) {
      qemu = absl::StrCat("(", of_column(Column::kQemu), ")");
    }
    std::string call = absl::StrCat("`", StepText(step), "`");
    if (disputed.size() > 1) absl::StrAppend(&call, " (and ", disputed.size() - 1, " more steps)");
    Row row = {PointOf(one.name), one.name, 0, {std::move(call)}};
    for (const std::string& cell :
         {of_column(Column::kPapr), of_column(Column::kKvm), qemu,
          of_run(runs_.kvm_hv, Column::kKvmHv), of_run(runs_.qemu_tcg, Column::kQemuTcg),
          absl::StrCat("`", file, "`")}) {
      row.cells.push_back(Cell(cell));
    }
    if (row.point == 0 && !rows_.empty() && rows_.back().point == 0 &&
        rows_.back().cells == row.cells) {
      ++rows_.back().more;
    } else {
      rows_.push_back(std::move(row));
    }
  }

  void WriteRows() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.point < b.point; });
    const auto others =
        std::find_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.point > 0; });
    absl::StrAppend(&text_, kHeading);
    WriteRows(others, rows_.end());
    absl::StrAppend(&text_, R"(
## Other cases in which they differ

Most of them show one of the points above by the way.

)",
                    kHeading);
    WriteRows(rows_.begin(), others);
  }

  void WriteRows(std::vector<Row>::const_iterator first, std::vector<Row>::const_iterator last) {
    for (; first != last; ++first) {
      absl::StrAppend(&text_, "| ", Cell(first->name));
      if (first->more > 0) {
        absl::StrAppend(&text_, " (and ", first->more, " further cases with the same answers)");
      }
      absl::StrAppend(&text_, " | ", absl::StrJoin(first->cells, " | "), " |\n");
    }
  }

  absl::Status WriteDefects() {
    absl::StrAppend(&text_, R"(
## Known faults

Those whose name begins with `qemu-`: in how many answers of the live QEMU each showed, and in how many of hptd
in profile `qemu-tcg`, which reproduces what a guest can live with. Those of Linux KVM-HV are marked in the
vectors for whoever runs them there.

| fault | what is wrong | QEMU | hptd `qemu-tcg` |
|---|---|---|---|
)");
    const auto count = [](const RunRecord& run, const std::string& name) {
      const auto it = run.defects.find(name);
      return it == run.defects.end() ? 0 : it->second;
    };
    for (const auto& [name, what] : defects_) {
      const int seen = count(runs_.qemu, name);
      if (absl::StartsWith(name, "qemu-") && seen == 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("the known fault ", name, " showed in no answer of ", runs_.qemu.target));
      }
      if (!absl::StartsWith(name, "qemu-")) {
        absl::StrAppendFormat(&text_, "| `%s` | %s | - | - |\n", name, Cell(what));
        continue;
      }
      absl::StrAppendFormat(&text_, "| `%s` | %s | %d | %d |\n", name, Cell(what), seen,
                            count(runs_.qemu_tcg, name));
    }
    return absl::OkStatus();
  }

  void WriteRuns() {
    absl::StrAppend(&text_, R"(
## Runs

| on | cases passed | skipped |
|---|---|---|
)");
    for (const RunRecord* run : {&runs_.kvm_hv, &runs_.qemu_tcg, &runs_.qemu}) {
      int skipped = 0;
      for (const auto& [why, cases] : run->skipped) skipped += cases;
      absl::StrAppendFormat(&text_, "| %s | %d | %d |\n", run->target, run->passed, skipped);
    }
    absl::StrAppend(&text_, "\nSkipped on QEMU, since it cannot be made so:\n\n");
    for (const auto& [why, cases] : runs_.qemu.skipped) {
      absl::StrAppendFormat(&text_, "- %d: %s\n", cases, why);
    }
  }

  const std::vector<ScriptFile>& files_;
  const Runs& runs_;
  std::map<std::string, std::string> defects_;
  std::vector<Row> rows_;
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> DifferencesDocument(const std::vector<ScriptFile>& files,
                                                const Runs& runs) {
  return Document(files, runs).Write();
}

}  // namespace papr::conformance
