// hptctl health: is the daemon well?

#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/health.h"
#include "client/hptctl/commands.h"

namespace papr::client::hptctl {
namespace {

int Health(const Context& context) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<HealthState> state = CheckHealth(**connection);
  if (!state.ok()) return Fail(state.status());
  const std::string_view name = HealthStateName(*state);
  if (context.json) {
    PrintJson({{"target", context.target}, {"status", std::string(name)}});
  } else {
    absl::PrintF("%s\n", absl::string_view(name.data(), name.size()));
  }
  return *state == HealthState::kServing ? kExitOk : kExitNo;
}

}  // namespace

void AddHealthCommand(CLI::App* app, Context* context) {
  CLI::App* command =
      app->add_subcommand("health", "Ask whether the daemon serves; exit code 1 if it does not");
  command->fallthrough();
  command->footer("\nExample:\n  hptctl health --target unix:/run/hptd.sock");
  command->callback([context] { context->action = [context] { return Health(*context); }; });
}

}  // namespace papr::client::hptctl
