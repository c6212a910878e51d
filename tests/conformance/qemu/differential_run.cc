#include "tests/conformance/qemu/differential_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hcall/abi.h"

namespace papr::conformance {
namespace {

using hcall::HcallRequest;
using hcall::HcallResult;

std::string Describe(const HcallResult& result) {
  std::string text = hcall::ReturnCodeName(result.return_code);
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    absl::StrAppendFormat(&text, " r%d=0x%x", i + 4, result.registers[i]);
  }
  return text;
}

// One call and, of an H_RESIZE_HPT_PREPARE that is busy, repetitions until it is no longer.
absl::Status Issue(client::Hypervisor& guest, const HcallRequest& request,
                   std::vector<HcallResult>& results) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::microseconds(200);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto result = guest.Hcall(request);
  if (!result.ok()) return result.status();
  results.push_back(*result);
  if (request.opcode != hcall::kHResizeHptPrepare || !hcall::IsLongBusy(result->return_code)) {
    return absl::OkStatus();
  }
  while (hcall::IsLongBusy(result->return_code)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError("the preparation of a resize does not end");
    }
    std::this_thread::sleep_for(kPause);
    result = guest.Hcall(request);
    if (!result.ok()) return result.status();
  }
  results.push_back(*result);
  return absl::OkStatus();
}

// `output_count` is not compared: a processor does not show it.
bool Same(const std::vector<HcallResult>& a, const std::vector<HcallResult>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HcallResult& x, const HcallResult& y) {
                      return x.return_code == y.return_code && x.registers == y.registers;
                    });
}

std::string DescribeAll(const absl::Status& status, const std::vector<HcallResult>& results) {
  std::string text;
  for (const HcallResult& result : results) {
    absl::StrAppend(&text, text.empty() ? "" : "; then ", Describe(result));
  }
  if (!status.ok()) absl::StrAppend(&text, text.empty() ? "" : "; then ", status.ToString());
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DifferentialRun>> DifferentialRun::Start(
    const hcall::PartitionConfig& config, const MachinePair& machines) {
  auto reference = machines.reference();
  if (!reference.ok()) return reference.status();
  auto subject = machines.subject();
  if (!subject.ok()) return subject.status();
  return std::unique_ptr<DifferentialRun>(
      new DifferentialRun(config, *std::move(reference), *std::move(subject)));
}

DifferentialRun::DifferentialRun(const hcall::PartitionConfig& config,
                                 std::unique_ptr<client::Machine> reference,
                                 std::unique_ptr<client::Machine> subject)
    : config_(config),
      reference_(std::move(reference)),
      subject_(std::move(subject)),
      reference_guest_(reference_->MakeHypervisor()),
      subject_guest_(subject_->MakeHypervisor()),
      state_(config) {}

StepRecord DifferentialRun::Run(const DifferentialStep& step) {
  StepRecord record{.step = step, .reference = {}, .subject = {}, .difference = ""};
  if (const auto* request = std::get_if<HcallRequest>(&step)) {
    RunHcall(*request, record);
  } else {
    RunUpdate(std::get<hcall::ReferenceChange>(step), record);
  }
  return record;
}

void DifferentialRun::RunHcall(const HcallRequest& request, StepRecord& record) {
  const absl::Status expected = Issue(*reference_guest_, request, record.reference);
  const absl::Status actual = Issue(*subject_guest_, request, record.subject);
  state_.Hcall(request);
  // Both machines have ended the preparation that the call may have begun.
  if (const auto order = state_.pending_order(); order.has_value()) {
    state_.FinishResizePreparation(*order, hcall::kHSuccess);
  }
  if (!record.reference.empty()) {
    const std::string_view name = hcall::OpcodeName(request.opcode);
    ++counts_[{name.empty() ? "other" : std::string(name), record.reference.front().return_code}];
  }
  if (expected.ok() && actual.ok() && Same(record.reference, record.subject)) return;
  record.difference =
      Difference(DescribeAll(expected, record.reference), DescribeAll(actual, record.subject));
}

void DifferentialRun::RunUpdate(const hcall::ReferenceChange& update, StepRecord& record) {
  const absl::Status expected = reference_->SetReferenceChange({&update, 1});
  const absl::Status actual = subject_->SetReferenceChange({&update, 1});
  state_.SetReferenceChange(update);
  ++counts_[{"R/C", 0}];
  if (expected.ok() && actual.ok()) return;
  record.difference = Difference(expected.ToString(), actual.ToString());
}

std::string DifferentialRun::Difference(std::string_view expected, std::string_view actual) const {
  std::string text;
  text.append(reference_->target()).append(": ").append(expected);
  return text.append("\n").append(subject_->target()).append(": ").append(actual);
}

std::optional<StepRecord> DifferentialRun::CompareTables() {
  for (uint64_t ptex = 0; ptex < state_.entry_count(); ptex += 4) {
    StepRecord record = Run(HcallRequest{.opcode = hcall::kHRead,  //
                                         .registers = {hcall::kFlagRead4, ptex}});
    if (!record.difference.empty()) return record;
  }
  return std::nullopt;
}

ReplayResult Replay(const hcall::PartitionConfig& config, const MachinePair& machines,
                    std::span<const DifferentialStep> steps) {
  ReplayResult result;
  const auto run = DifferentialRun::Start(config, machines);
  if (!run.ok()) {
    result.difference = run.status().ToString();
    return result;
  }
  for (const DifferentialStep& step : steps) {
    if (!(*run)->Takes(step)) continue;
    result.records.push_back((*run)->Run(step));
    result.difference = result.records.back().difference;
    if (!result.difference.empty()) return result;
  }
  if (auto record = (*run)->CompareTables(); record.has_value()) {
    result.difference = record->difference;
    result.records.push_back(*std::move(record));
  }
  return result;
}

}  // namespace papr::conformance
