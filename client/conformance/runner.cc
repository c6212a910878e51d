#include "client/conformance/runner.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/conformance/describe.h"
#include "hcall/abi.h"

namespace papr::conformance {
namespace {

constexpr auto kPollLimit = std::chrono::seconds(60);
constexpr auto kPollPause = std::chrono::milliseconds(1);

template <typename T>
bool OneOf(const std::vector<T>& alternatives, const T& value) {
  return std::find(alternatives.begin(), alternatives.end(), value) != alternatives.end();
}

std::string DescribeReturnCodes(const std::vector<int64_t>& codes) {
  return absl::StrJoin(
      codes, " or ", [](std::string* out, int64_t code) { out->append(DescribeReturnCode(code)); });
}

// What does not hold of `expectation`, one text a register; nothing if all does.
std::vector<std::string> Mismatches(const hcall::HcallRequest& request,
                                    const Expectation& expectation,
                                    const hcall::HcallResult& result) {
  if (expectation.any) return {};
  if (expectation.crash) {
    return {absl::StrCat("expected a crash, got ", DescribeReturnCode(result.return_code))};
  }
  std::vector<std::string> mismatches;
  if (!OneOf(expectation.return_codes, result.return_code)) {
    mismatches.push_back(absl::StrCat("expected ", DescribeReturnCodes(expectation.return_codes),
                                      ", got ", DescribeReturnCode(result.return_code)));
  }
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    const std::vector<uint64_t>& allowed = expectation.registers[i];
    const uint64_t value = result.registers[i];
    if (allowed.empty()) {
      if (!expectation.rest_same || value == request.registers[i]) continue;
      mismatches.push_back(absl::StrFormat("expected r%d to keep 0x%x, got 0x%x", i + 4,
                                           request.registers[i], value));
    } else if (!OneOf(allowed, value)) {
      const auto describe = [&](std::string* out, uint64_t each) {
        out->append(DescribeOutput(request, i, each));
      };
      mismatches.push_back(absl::StrCat("expected r", i + 4, " ",
                                        absl::StrJoin(allowed, " or ", describe), ", got ",
                                        DescribeOutput(request, i, value)));
    }
  }
  return mismatches;
}

bool IsLost(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

// Why a case is skipped.
std::string Reason(const absl::Status& status) {
  return status.message().empty() ? "no reason given" : std::string(status.message());
}

bool IsBusy(int64_t return_code) {
  return hcall::IsLongBusy(return_code) || return_code == hcall::kHContinue;
}

class Runner {
 public:
  explicit Runner(client::Machine& machine)
      : machine_(machine), hypervisor_(machine.MakeHypervisor()) {}

  CaseReport Run(const Case& test_case) {
    for (index_ = 0; index_ < test_case.steps.size(); ++index_) {
      step_ = &test_case.steps[index_];
      const absl::Status status =
          std::visit([this](const auto& action) { return this->Do(action); }, step_->action);
      if (status.ok()) continue;
      End(status);
      break;
    }
    return std::move(report_);
  }

 private:
  // The case cannot go on.
  void End(const absl::Status& status) {
    if (absl::IsAborted(status) && ended_by_known_crash_) return;
    if (absl::IsUnimplemented(status) && report_.failures.empty()) {
      report_.skipped = Reason(status);
      return;
    }
    if (IsLost(status)) {
      report_.lost = status;
      return;
    }
    const char* const what = absl::IsAborted(status)         ? "crashed: "
                             : absl::IsUnimplemented(status) ? "unsupported: "
                                                             : "could not be run: ";
    Fail(step_->line, "", {absl::StrCat(what, status.message())});
  }

  absl::Status Do(const CallStep& call) {
    absl::StatusOr<hcall::HcallResult> result = Call(call);
    if (absl::IsAborted(result.status())) TakeCrash(call);
    if (!result.ok()) return result.status();
    report_.answers.push_back({index_, false, *result});
    for (const Expectation& expectation : call.expectations) {
      Judge(expectation.line, expectation.defect, Mismatches(call.request, expectation, *result));
    }
    return absl::OkStatus();
  }

  void TakeCrash(const CallStep& call) {
    report_.answers.push_back({index_, true, {}});
    for (const Expectation& expectation : call.expectations) {
      if (!expectation.crash) continue;
      ended_by_known_crash_ = true;
      Judge(expectation.line, expectation.defect, {});
    }
  }

  absl::StatusOr<hcall::HcallResult> Call(const CallStep& call) {
    const auto give_up = std::chrono::steady_clock::now() + kPollLimit;
    for (;;) {
      absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(call.request);
      if (!result.ok() || !call.poll || !IsBusy(result->return_code)) return result;
      if (std::chrono::steady_clock::now() > give_up) return result;
      std::this_thread::sleep_for(kPollPause);
    }
  }

  absl::Status Do(const TouchStep& touch) {
    const hcall::ReferenceChange update = {touch.ptex, touch.referenced, touch.changed};
    return machine_.SetReferenceChange({&update, 1});
  }

  absl::Status Do(const FinishStep& finish) {
    return machine_.FinishResizePreparation(finish.order, finish.return_code);
  }

  absl::Status Do(const ResetStep&) { return machine_.Reset(std::nullopt); }

  static absl::Status Do(const AssertStep&) { return absl::OkStatus(); }

  absl::Status Do(const ExpectEntryStep& expected) {
    absl::StatusOr<hcall::HcallResult> result =
        hypervisor_->Hcall(client::MakeHcall(hcall::kHRead, {0, expected.ptex}));
    if (!result.ok()) return result.status();
    report_.answers.push_back({index_, false, *result});
    std::vector<std::string> mismatches;
    if (result->return_code != hcall::kHSuccess) {
      mismatches.push_back(absl::StrCat("H_READ gave ", DescribeReturnCode(result->return_code)));
    } else {
      const mmu::Hpte hpte = {result->registers[0], result->registers[1]};
      if (hpte.v != expected.hpte.v) {
        mismatches.push_back(
            absl::StrCat("expected V ", DescribeV(expected.hpte.v), ", got ", DescribeV(hpte.v)));
      }
      if (hpte.r != expected.hpte.r) {
        mismatches.push_back(
            absl::StrCat("expected R ", DescribeR(expected.hpte.r), ", got ", DescribeR(hpte.r)));
      }
    }
    Judge(step_->line, step_->defect, mismatches);
    return absl::OkStatus();
  }

  absl::Status Do(const ExpectValidStep& expected) {
    return ExpectStatistic(expected.count, "valid entries",
                           [](const hcall::HptStatistics& from) { return from.valid; });
  }

  absl::Status Do(const ExpectOrderStep& expected) {
    return ExpectStatistic(
        static_cast<uint64_t>(expected.order), "as the order",
        [](const hcall::HptStatistics& from) { return static_cast<uint64_t>(from.order); });
  }

  template <typename Get>
  absl::Status ExpectStatistic(uint64_t expected, const char* what, Get get) {
    absl::StatusOr<hcall::HptStatistics> statistics = machine_.GetStatistics();
    if (!statistics.ok()) return statistics.status();
    const uint64_t actual = get(*statistics);
    report_.answers.push_back({index_, false, {.registers = {actual}}});
    std::vector<std::string> mismatches;
    if (actual != expected) {
      mismatches.push_back(absl::StrFormat("expected %d %s, got %d", expected, what, actual));
    }
    Judge(step_->line, step_->defect, mismatches);
    return absl::OkStatus();
  }

  // Counts a known fault that showed, or notes what did not hold.
  void Judge(int line, const std::string& defect, const std::vector<std::string>& mismatches) {
    if (!mismatches.empty()) {
      Fail(line, defect, mismatches);
    } else if (!defect.empty()) {
      ++report_.defects[defect];
    }
  }

  void Fail(int line, const std::string& defect, const std::vector<std::string>& mismatches) {
    const std::string known =
        defect.empty() ? "" : absl::StrCat("the known defect ", defect, " does not show: ");
    // The numbers behind the names of a call that fails.
    const auto* const call = std::get_if<CallStep>(&step_->action);
    const std::string numbers =
        call == nullptr ? "" : absl::StrCat(" [", DescribeCall(call->request), "]");
    for (const std::string& mismatch : mismatches) {
      report_.failures.push_back({line, absl::StrCat(step_->text, ": ", known, mismatch, numbers)});
    }
  }

  client::Machine& machine_;
  std::unique_ptr<client::Hypervisor> hypervisor_;
  size_t index_ = 0;
  const Step* step_ = nullptr;
  bool ended_by_known_crash_ = false;
  CaseReport report_;
};

}  // namespace

CaseReport RunCase(const Case& test_case, MachineFactory make_machine) {
  absl::StatusOr<std::unique_ptr<client::Machine>> machine = make_machine(test_case);
  if (machine.ok()) return Runner(**machine).Run(test_case);
  CaseReport report;
  if (absl::IsUnimplemented(machine.status())) {
    report.skipped = Reason(machine.status());
  } else if (IsLost(machine.status())) {
    report.lost = machine.status();
  } else {
    report.failures.push_back(
        {test_case.line, absl::StrCat("no partition: ", machine.status().message())});
  }
  return report;
}

}  // namespace papr::conformance
