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

// H_RESIZE_HPT_PREPARE and, if it is busy, repetitions until it is no longer.
absl::Status Prepare(client::Hypervisor& guest, const HcallRequest& request,
                     std::vector<HcallResult>& results) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::microseconds(200);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto result = guest.Hcall(request);
  if (!result.ok()) return result.status();
  results.push_back(*result);
  if (!hcall::IsLongBusy(result->return_code)) return absl::OkStatus();
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

// The request of a step that can be made together with others.
const HcallRequest* Batchable(const DifferentialStep& step) {
  const auto* request = std::get_if<HcallRequest>(&step);
  return request == nullptr || request->opcode == hcall::kHResizeHptPrepare ? nullptr : request;
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

void DifferentialRun::Plan(const DifferentialStep& step) {
  planned_.push_back(step);
  if (const auto* update = std::get_if<hcall::ReferenceChange>(&step)) {
    state_.SetReferenceChange(*update);
    return;
  }
  state_.Hcall(std::get<HcallRequest>(step));
  // Both machines will have ended the preparation that the call may have begun.
  if (const auto order = state_.pending_order(); order.has_value()) {
    state_.FinishResizePreparation(*order, hcall::kHSuccess);
  }
}

std::vector<StepRecord> DifferentialRun::RunPlanned() {
  const DifferentialSteps steps = std::exchange(planned_, {});
  std::vector<StepRecord> records;
  std::span<const DifferentialStep> left = steps;
  while (!left.empty() && (records.empty() || records.back().difference.empty())) {
    RunSome(left, records);
  }
  return records;
}

void DifferentialRun::RunSome(std::span<const DifferentialStep>& steps,
                              std::vector<StepRecord>& records) {
  std::vector<HcallRequest> requests;
  for (const DifferentialStep& step : steps) {
    const HcallRequest* request = Batchable(step);
    if (request == nullptr) break;
    requests.push_back(*request);
  }
  if (!requests.empty()) {
    steps = steps.subspan(requests.size());
    RunTogether(requests, records);
    return;
  }
  const auto* update = std::get_if<hcall::ReferenceChange>(&steps.front());
  records.push_back(update != nullptr ? RunUpdate(*update)
                                      : RunPrepare(std::get<HcallRequest>(steps.front())));
  Count(records.back());
  steps = steps.subspan(1);
}

void DifferentialRun::RunTogether(std::span<const HcallRequest> requests,
                                  std::vector<StepRecord>& records) {
  std::vector<HcallResult> expected;
  std::vector<HcallResult> actual;
  constexpr auto kAll = hcall::BatchMode::kAll;
  const absl::Status reference = reference_guest_->HcallBatch(requests, kAll, &expected);
  const absl::Status subject = subject_guest_->HcallBatch(requests, kAll, &actual);
  if (!reference.ok() || !subject.ok()) {
    for (const HcallRequest& request : requests) records.push_back({request, {}, {}, ""});
    records.back().difference = Difference(reference.ToString(), subject.ToString());
    return;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    StepRecord record{requests[i], {expected[i]}, {actual[i]}, ""};
    if (!Same(record.reference, record.subject)) {
      record.difference = Difference(Describe(expected[i]), Describe(actual[i]));
    }
    Count(record);
    records.push_back(record);
    if (!record.difference.empty()) return;
  }
}

StepRecord DifferentialRun::RunPrepare(const HcallRequest& request) {
  StepRecord record{request, {}, {}, ""};
  const absl::Status expected = Prepare(*reference_guest_, request, record.reference);
  const absl::Status actual = Prepare(*subject_guest_, request, record.subject);
  if (expected.ok() && actual.ok() && Same(record.reference, record.subject)) return record;
  record.difference =
      Difference(DescribeAll(expected, record.reference), DescribeAll(actual, record.subject));
  return record;
}

StepRecord DifferentialRun::RunUpdate(const hcall::ReferenceChange& update) {
  StepRecord record{update, {}, {}, ""};
  const absl::Status expected = reference_->SetReferenceChange({&update, 1});
  const absl::Status actual = subject_->SetReferenceChange({&update, 1});
  if (expected.ok() && actual.ok()) return record;
  record.difference = Difference(expected.ToString(), actual.ToString());
  return record;
}

void DifferentialRun::Count(const StepRecord& record) {
  const auto* request = std::get_if<HcallRequest>(&record.step);
  if (request == nullptr) {
    ++counts_[{"R/C", hcall::kHSuccess}];
  } else if (!record.reference.empty()) {
    const std::string_view name = hcall::OpcodeName(request->opcode);
    ++counts_[{name.empty() ? "other" : std::string(name), record.reference.front().return_code}];
  }
}

std::string DifferentialRun::Difference(std::string_view expected, std::string_view actual) const {
  std::string text;
  text.append(reference_->target()).append(": ").append(expected);
  return text.append("\n").append(subject_->target()).append(": ").append(actual);
}

std::optional<StepRecord> DifferentialRun::CompareTables() {
  constexpr uint64_t kCallsTogether = 4096;
  for (uint64_t ptex = 0; ptex < state_.entry_count();) {
    std::vector<HcallRequest> requests;
    for (; ptex < state_.entry_count() && requests.size() < kCallsTogether; ptex += 4) {
      requests.push_back({.opcode = hcall::kHRead, .registers = {hcall::kFlagRead4, ptex}});
    }
    std::vector<StepRecord> records;
    RunTogether(requests, records);
    if (!records.back().difference.empty()) return records.back();
  }
  return std::nullopt;
}

ReplayResult Replay(const hcall::PartitionConfig& config, const MachinePair& machines,
                    std::span<const DifferentialStep> steps, size_t together) {
  ReplayResult result;
  const auto run = DifferentialRun::Start(config, machines);
  if (!run.ok()) {
    result.difference = run.status().ToString();
    return result;
  }
  while (!steps.empty()) {
    const auto some = steps.first(std::min(steps.size(), together));
    steps = steps.subspan(some.size());
    for (const DifferentialStep& step : some) {
      if ((*run)->Takes(step)) (*run)->Plan(step);
    }
    for (StepRecord& record : (*run)->RunPlanned()) result.records.push_back(std::move(record));
    if (!result.records.empty()) result.difference = result.records.back().difference;
    if (!result.difference.empty()) return result;
  }
  if (auto record = (*run)->CompareTables(); record.has_value()) {
    result.difference = record->difference;
    result.records.push_back(*std::move(record));
  }
  return result;
}

}  // namespace papr::conformance
