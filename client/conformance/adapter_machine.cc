#include "client/conformance/adapter_machine.h"

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
constexpr auto kTimeToLeave = std::chrono::seconds(2);

absl::Status OnlyStatus(const absl::StatusOr<std::string>& answer) { return answer.status(); }

class AdapterHypervisor : public client::Hypervisor {
 public:
  explicit AdapterHypervisor(Adapter& adapter) : adapter_(adapter) {}

  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& request) override {
    ++round_trips_;
    absl::StatusOr<std::string> answer = adapter_.Ask(FormatHcall(request));
    if (!answer.ok()) return answer.status();
    return ParseHcallAnswer(*answer);
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
    return OnlyStatus(adapter_.Ask("reset"));
  }

  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> updates) override {
    for (const hcall::ReferenceChange& update : updates) {
      absl::Status status = OnlyStatus(adapter_.Ask(FormatTouch(update)));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status FinishResizePreparation(int order, int64_t return_code) override {
    return OnlyStatus(adapter_.Ask(absl::StrCat("finish ", order, " ", return_code)));
  }

  absl::StatusOr<hcall::HptStatistics> GetStatistics() override {
    absl::StatusOr<std::string> answer = adapter_.Ask("statistics");
    if (!answer.ok()) return answer.status();
    const std::vector<std::string> words = absl::StrSplit(*answer, ' ');
    hcall::HptStatistics statistics;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &statistics.order) ||
        !absl::SimpleAtoi(words[1], &statistics.valid)) {
      return absl::InternalError(absl::StrCat("not an answer to statistics: ", *answer));
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

absl::StatusOr<std::unique_ptr<Adapter>> Adapter::Start(const std::string& command) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> process =
      ChildProcess::Start({"/bin/sh", "-c", command}, {.own_group = true});
  if (!process.ok()) return process.status();
  std::unique_ptr<Adapter> adapter(new Adapter(command, *std::move(process)));
  if (absl::Status status = adapter->Greet(); !status.ok()) return status;
  return adapter;
}

Adapter::~Adapter() {
  process_->CloseInput();
  process_->WaitOrKill(kTimeToLeave);
}

absl::Status Adapter::Greet() {
  absl::StatusOr<std::string> answer = Ask(absl::StrCat("hello ", kAdapterProtocolVersion));
  if (!answer.ok()) return answer.status();
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(*answer, absl::MaxSplits(' ', 1));
  const std::optional<Column> column = ColumnByName(parts.first);
  if (!column || parts.second.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", command_, "' does not say COLUMN NAME to hello, but: ", *answer));
  }
  column_ = *column;
  name_ = parts.second;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<client::Machine>> Adapter::CreateMachine(const std::string& spec) {
  absl::StatusOr<std::string> answer = Ask(absl::StrCat("create ", spec));
  if (!answer.ok()) return answer.status();
  return std::make_unique<AdapterMachine>(*this);
}

absl::StatusOr<std::string> Adapter::Ask(const std::string& request) {
  absl::Status status = process_->Write(request + "\n");
  if (status.ok()) {
    absl::StatusOr<std::string> line =
        process_->ReadLine(std::chrono::steady_clock::now() + kAnswerLimit);
    if (line.ok()) return ParseAnswer(*line);
    status = line.status();
  }
  const std::string what =
      absl::StrCat("the adapter '", command_, "' at '", request, "': ", status.message());
  // ABORTED is the implementation's crash; this is the adapter's end.
  if (absl::IsAborted(status)) return absl::UnavailableError(what);
  return absl::Status(status.code(), what);
}

}  // namespace papr::conformance
