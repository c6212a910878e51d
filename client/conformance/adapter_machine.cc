#include "client/conformance/adapter_machine.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/conformance/adapter_protocol.h"

namespace papr::conformance {
namespace {

// A machine may have to boot.
constexpr auto kAnswerLimit = std::chrono::minutes(2);
constexpr auto kLookUpEvery = std::chrono::milliseconds(100);  // is the run cancelled?
constexpr auto kTimeToLeave = std::chrono::seconds(2);

class AdapterHypervisor : public client::Hypervisor {
 public:
  explicit AdapterHypervisor(Adapter& adapter) : adapter_(adapter) {}

  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override {
    ++round_trips_;
    const std::string line = FormatHcall(request);
    absl::StatusOr<std::string> answer = adapter_.Ask(line);
    if (!answer.ok()) return answer.status();
    absl::StatusOr<hcall::HcallResult> result = ParseHcallAnswer(*answer);
    if (!result.ok()) return adapter_.GiveUp(line, result.status());
    return result;
  }

  absl::Status HcallBatch(std::span<const hcall::HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<hcall::HcallResult>* results) override {
    results->clear();
    for (const hcall::HcallRequest& request : requests) {
      absl::StatusOr<hcall::HcallResult> result = Hcall(request);
      if (!result.ok()) return result.status();
      results->push_back(*result);
      const bool stop = mode == hcall::BatchMode::kStopAtFirstError;
      if (stop && result->return_code != hcall::kHSuccess) break;
    }
    return absl::OkStatus();
  }

  uint64_t round_trips() const override { return round_trips_; }

 private:
  Adapter& adapter_;
  uint64_t round_trips_ = 0;
};

class AdapterMachine : public client::Machine {
 public:
  explicit AdapterMachine(Adapter& adapter) : adapter_(adapter) {}

  std::string_view target() const override { return adapter_.name(); }
  std::unique_ptr<client::Hypervisor> MakeHypervisor() override {
    return std::make_unique<AdapterHypervisor>(adapter_);
  }

  absl::Status Reset(std::optional<int> order) override {
    if (order) return absl::UnimplementedError("a reset to another order");
    return adapter_.Tell("reset");
  }

  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override {
    for (const hcall::ReferenceChange& update : updates) {
      absl::Status status = adapter_.Tell(FormatTouch(update));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status FinishResizePreparation(int order, int64_t return_code) override {
    return adapter_.Tell(absl::StrCat("finish ", order, " ", return_code));
  }

  absl::StatusOr<hcall::HptStatistics> GetStatistics() override {
    absl::StatusOr<std::string> answer = adapter_.Ask("statistics");
    if (!answer.ok()) return answer.status();
    const std::vector<std::string> words = absl::StrSplit(*answer, ' ');
    hcall::HptStatistics statistics;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &statistics.order) ||
        !absl::SimpleAtoi(words[1], &statistics.valid)) {
      return adapter_.GiveUp(
          "statistics", absl::InvalidArgumentError(
                            absl::StrCat("expected 'ok ORDER VALID', got 'ok ", *answer, "'")));
    }
    return statistics;
  }

  absl::StatusOr<mmu::TableCheckReport> Check(size_t /*max_findings*/) override {
    return absl::UnimplementedError("a table check");
  }
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override {
    return absl::UnimplementedError("a device tree");
  }

 private:
  Adapter& adapter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Adapter>> Adapter::Start(const std::string& command,
                                                        std::function<bool()> cancelled) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> process =
      ChildProcess::Start({"/bin/sh", "-c", command}, {.own_group = true});
  if (!process.ok()) return process.status();
  std::unique_ptr<Adapter> adapter(new Adapter(command, *std::move(process), std::move(cancelled)));
  if (absl::Status status = adapter->Greet(); !status.ok()) return status;
  return adapter;
}

Adapter::~Adapter() {
  process_->CloseInput();
  process_->WaitOrKill(lost_.ok() ? kTimeToLeave : kTimeToLeave.zero());
}

absl::Status Adapter::Greet() {
  absl::StatusOr<std::string> answer = Ask(absl::StrCat("hello ", kAdapterProtocolVersion));
  if (!answer.ok()) return answer.status();
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(*answer, absl::MaxSplits(' ', 1));
  const std::optional<Column> column = ColumnByName(parts.first);
  if (!column || parts.second.empty()) {
    return GiveUp("hello", absl::InvalidArgumentError(absl::StrCat(
                               "expected 'ok COLUMN NAME', COLUMN one of papr, kvm-hv, qemu-tcg, "
                               "kvm and qemu, got 'ok ",
                               *answer, "'")));
  }
  column_ = *column;
  name_ = parts.second;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<client::Machine>> Adapter::CreateMachine(const std::string& spec) {
  if (absl::Status status = Tell(absl::StrCat("create ", spec)); !status.ok()) return status;
  return std::make_unique<AdapterMachine>(*this);
}

absl::StatusOr<std::string> Adapter::Ask(const std::string& request) {
  if (!lost_.ok()) return lost_;
  if (process_->HasOutput()) {
    const absl::StatusOr<std::string> line = process_->ReadLine(std::chrono::steady_clock::now());
    return GiveUp(request,
                  absl::InvalidArgumentError(absl::StrCat("before it was asked it had said '",
                                                          line.ok() ? *line : "something", "'")));
  }
  absl::StatusOr<std::string> line = Exchange(request);
  if (!line.ok()) return GiveUp(request, line.status());
  absl::StatusOr<std::string> answer = ParseAnswer(*line);
  if (absl::IsInvalidArgument(answer.status())) return GiveUp(request, answer.status());
  return answer;
}

absl::Status Adapter::Tell(const std::string& request) {
  absl::StatusOr<std::string> answer = Ask(request);
  if (!answer.ok() || answer->empty()) return answer.status();
  return GiveUp(request, absl::InvalidArgumentError(
                             absl::StrCat("expected 'ok' and no more, got 'ok ", *answer, "'")));
}

absl::StatusOr<std::string> Adapter::Exchange(const std::string& request) {
  const auto give_up = std::chrono::steady_clock::now() + kAnswerLimit;
  if (absl::Status status = process_->Write(request + "\n", give_up); !status.ok()) return status;
  for (;;) {
    if (cancelled_ && cancelled_()) return absl::CancelledError("interrupted");
    const auto now = std::chrono::steady_clock::now();
    absl::StatusOr<std::string> line = process_->ReadLine(std::min(give_up, now + kLookUpEvery));
    if (!absl::IsDeadlineExceeded(line.status()) || now >= give_up) return line;
  }
}

absl::Status Adapter::GiveUp(const std::string& request, const absl::Status& why) {
  const std::string what =
      absl::StrCat("the adapter '", command_, "' at '", request, "': ", why.message());
  const bool keep = absl::IsCancelled(why) || absl::IsDeadlineExceeded(why);
  lost_ = absl::Status(keep ? why.code() : absl::StatusCode::kUnavailable, what);
  return lost_;
}

}  // namespace papr::conformance
