#include "tests/conformance/script_runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "hcall/abi.h"
#include "tests/conformance/describe.h"

namespace papr::conformance {
namespace {

constexpr auto kPollLimit = std::chrono::seconds(60);
constexpr auto kPollPause = std::chrono::milliseconds(1);

template <typename T>
bool OneOf(const std::vector<T>& alternatives, const T& value) {
  return std::find(alternatives.begin(), alternatives.end(), value) != alternatives.end();
}

std::string DescribeReturnCode(int64_t code) {
  return absl::StrCat(hcall::ReturnCodeName(code), " (", code, ")");
}

class Runner {
 public:
  explicit Runner(client::Machine& machine)
      : machine_(machine), hypervisor_(machine.MakeHypervisor()) {}

  std::vector<Failure> Run(const Case& test_case) {
    for (const Step& step : test_case.steps) {
      step_ = &step;
      const absl::Status status =
          std::visit([this](const auto& action) { return Do(action); }, step.action);
      if (!status.ok()) {
        Fail(step.line, absl::StrCat("could not be run: ", status.ToString()));
        break;
      }
    }
    return std::move(failures_);
  }

 private:
  absl::Status Do(const CallStep& call) {
    absl::StatusOr<hcall::HcallResult> result = Call(call);
    if (!result.ok()) return result.status();
    for (const Expectation& expectation : call.expectations) {
      Compare(call.request, expectation, *result);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<hcall::HcallResult> Call(const CallStep& call) {
    const auto give_up = std::chrono::steady_clock::now() + kPollLimit;
    for (;;) {
      absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(call.request);
      if (!result.ok() || !call.poll) return result;
      if (!hcall::IsLongBusy(result->return_code) && result->return_code != hcall::kHContinue) {
        return result;
      }
      if (std::chrono::steady_clock::now() > give_up) return result;
      std::this_thread::sleep_for(kPollPause);
    }
  }

  void Compare(const hcall::HcallRequest& request, const Expectation& expectation,
               const hcall::HcallResult& result) {
    if (!OneOf(expectation.return_codes, result.return_code)) {
      Fail(expectation.line, absl::StrCat("expected ",
                                          absl::StrJoin(expectation.return_codes, " or ",
                                                        [](std::string* out, int64_t code) {
                                                          out->append(DescribeReturnCode(code));
                                                        }),
                                          ", got ", DescribeReturnCode(result.return_code)));
    }
    for (int i = 0; i < hcall::kRegisterCount; ++i) {
      std::vector<uint64_t> allowed = expectation.registers[i];
      if (allowed.empty() && expectation.rest_same) allowed.push_back(request.registers[i]);
      const uint64_t value = result.registers[i];
      if (allowed.empty() || OneOf(allowed, value)) continue;
      Fail(expectation.line,
           absl::StrCat("expected r", i + 4, " ",
                        absl::StrJoin(allowed, " or ",
                                      [&](std::string* out, uint64_t each) {
                                        out->append(DescribeOutput(request, i, each));
                                      }),
                        ", got ", DescribeOutput(request, i, value)));
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

  absl::Status Do(const ExpectEntryStep& expected) {
    absl::StatusOr<hcall::HcallResult> result =
        hypervisor_->Hcall(client::MakeHcall(hcall::kHRead, {0, expected.ptex}));
    if (!result.ok()) return result.status();
    if (result->return_code != hcall::kHSuccess) {
      Fail(step_->line, absl::StrCat("H_READ gave ", DescribeReturnCode(result->return_code)));
      return absl::OkStatus();
    }
    const mmu::Hpte hpte = {result->registers[0], result->registers[1]};
    if (hpte.v != expected.hpte.v) {
      Fail(step_->line,
           absl::StrCat("expected V ", DescribeV(expected.hpte.v), ", got ", DescribeV(hpte.v)));
    }
    if (hpte.r != expected.hpte.r) {
      Fail(step_->line,
           absl::StrCat("expected R ", DescribeR(expected.hpte.r), ", got ", DescribeR(hpte.r)));
    }
    return absl::OkStatus();
  }

  absl::Status Do(const ExpectValidStep& expected) {
    absl::StatusOr<hcall::HptStatistics> statistics = machine_.GetStatistics();
    if (!statistics.ok()) return statistics.status();
    if (statistics->valid != expected.count) {
      Fail(step_->line,
           absl::StrFormat("expected %d valid entries, got %d", expected.count, statistics->valid));
    }
    return absl::OkStatus();
  }

  absl::Status Do(const ExpectOrderStep& expected) {
    absl::StatusOr<hcall::HptStatistics> statistics = machine_.GetStatistics();
    if (!statistics.ok()) return statistics.status();
    if (statistics->order != expected.order) {
      Fail(step_->line,
           absl::StrFormat("expected order %d, got %d", expected.order, statistics->order));
    }
    return absl::OkStatus();
  }

  void Fail(int line, const std::string& message) {
    failures_.push_back({line, absl::StrCat(step_->text, ": ", message)});
  }

  client::Machine& machine_;
  std::unique_ptr<client::Hypervisor> hypervisor_;
  const Step* step_ = nullptr;
  std::vector<Failure> failures_;
};

}  // namespace

std::vector<Failure> RunCase(const Case& test_case, client::Machine& machine) {
  return Runner(machine).Run(test_case);
}

}  // namespace papr::conformance
