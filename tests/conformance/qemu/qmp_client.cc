#include "tests/conformance/qemu/qmp_client.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace papr::conformance {

absl::Status QmpClient::Connect() {
  const auto greeting = process_->ReadLine(std::chrono::steady_clock::now() + patience_);
  if (!greeting.ok()) return greeting.status();
  return Execute("qmp_capabilities");
}

absl::Status QmpClient::Execute(std::string_view command) { return ExecuteAndAwait(command, ""); }

absl::Status QmpClient::ExecuteAndAwait(std::string_view command, std::string_view event) {
  const nlohmann::json message = {{"execute", command}};
  if (const absl::Status sent =
          process_->Write(message.dump() + "\n", std::chrono::steady_clock::now() + patience_);
      !sent.ok())
    return sent;
  return AwaitAnswer(command, event);
}

absl::Status QmpClient::AwaitAnswer(std::string_view command, std::string_view event) {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  bool answered = false;
  bool happened = event.empty();
  while (!answered || !happened) {
    const auto line = process_->ReadLine(deadline);
    if (!line.ok()) return line.status();
    const nlohmann::json message = nlohmann::json::parse(*line, nullptr, false);
    if (message.is_discarded() || message.contains("error")) {
      return absl::InternalError(
          absl::StrCat("QMP ", absl::string_view(command.data(), command.size()), ": ", *line));
    }
    if (message.contains("return")) answered = true;
    if (message.value("event", "") == event) happened = true;
  }
  return absl::OkStatus();
}

}  // namespace papr::conformance
