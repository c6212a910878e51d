#include "client/conformance/adapter_server.h"

#include <istream>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/conformance/adapter_protocol.h"
#include "hcall/partition_spec.h"

namespace papr::conformance {
namespace {

using Answer = absl::StatusOr<std::string>;  // what follows "ok", or what went wrong

Answer OkIf(const absl::Status& status) {
  if (!status.ok()) return status;
  return std::string();
}

class Server {
 public:
  Server(const AdapterIdentity& identity, AdapterMachineFactory make_machine)
      : identity_(identity), make_machine_(make_machine) {}

  Answer Do(const std::string& line) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first == "hello") return Hello(parts.second);
    if (parts.first == "create") return Create(parts.second);
    if (machine_ == nullptr) return absl::FailedPreconditionError("no partition is created");
    if (parts.first == "hcall") return Hcall(line);
    if (parts.first == "touch") return Touch(line);
    if (parts.first == "finish") return Finish(parts.second);
    if (parts.first == "reset") return OkIf(machine_->Reset(std::nullopt));
    if (parts.first == "statistics") return Statistics();
    return absl::InvalidArgumentError(absl::StrCat("no request: ", line));
  }

 private:
  Answer Hello(const std::string& version) const {
    if (version != absl::StrCat(kAdapterProtocolVersion)) {
      return absl::InvalidArgumentError(
          absl::StrCat("this adapter speaks version ", kAdapterProtocolVersion));
    }
    return absl::StrCat(std::string(ColumnName(identity_.column)), " ", identity_.name);
  }

  Answer Create(const std::string& spec) {
    hypervisor_.reset();
    machine_.reset();
    // Held against the letter of the standard, an implementation is still what it is.
    const std::string_view own = ColumnName(ProfileOf(identity_.column));
    absl::StatusOr<hcall::PartitionSpec> parsed = hcall::ParsePartitionSpec(
        absl::StrReplaceAll(spec, {{"profile=papr", "profile=" + std::string(own)}}));
    if (!parsed.ok()) return parsed.status();
    absl::StatusOr<std::unique_ptr<client::Machine>> machine = make_machine_(parsed->config);
    if (!machine.ok()) return machine.status();
    machine_ = *std::move(machine);
    hypervisor_ = machine_->MakeHypervisor();
    return std::string();
  }

  Answer Hcall(const std::string& line) {
    absl::StatusOr<hcall::HcallRequest> request = ParseHcall(line);
    if (!request.ok()) return request.status();
    absl::StatusOr<hcall::HcallResult> result = hypervisor_->Hcall(*request);
    if (!result.ok()) return result.status();
    return FormatHcallAnswer(*result);
  }

  Answer Touch(const std::string& line) {
    absl::StatusOr<hcall::ReferenceChange> update = ParseTouch(line);
    if (!update.ok()) return update.status();
    return OkIf(machine_->SetReferenceChange({&*update, 1}));
  }

  Answer Finish(const std::string& arguments) {
    const std::vector<std::string> words = absl::StrSplit(arguments, ' ');
    int order = 0;
    int64_t return_code = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &order) ||
        !absl::SimpleAtoi(words[1], &return_code)) {
      return absl::InvalidArgumentError(absl::StrCat("malformed line: finish ", arguments));
    }
    return OkIf(machine_->FinishResizePreparation(order, return_code));
  }

  Answer Statistics() {
    absl::StatusOr<hcall::HptStatistics> statistics = machine_->GetStatistics();
    if (!statistics.ok()) return statistics.status();
    return absl::StrCat(statistics->order, " ", statistics->valid);
  }

  const AdapterIdentity& identity_;
  AdapterMachineFactory make_machine_;
  std::unique_ptr<client::Machine> machine_;
  std::unique_ptr<client::Hypervisor> hypervisor_;  // of machine_, and so goes first
};

}  // namespace

void ServeAdapter(const AdapterIdentity& identity, AdapterMachineFactory make_machine,
                  std::istream& in, std::ostream& out) {
  Server server(identity, make_machine);
  for (std::string line; std::getline(in, line);) {
    const Answer answer = server.Do(line);
    out << FormatAnswer(answer.status());
    if (answer.ok() && !answer->empty()) out << ' ' << *answer;
    out << std::endl;  // the runner waits for it
  }
}

}  // namespace papr::conformance
