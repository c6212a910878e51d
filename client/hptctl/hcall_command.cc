// hptctl hcall: issues one hcall and shows what came back.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/attached_partition.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/hcall_view.h"

namespace papr::client::hptctl {
namespace {

struct HcallOptions {
  std::string call;
  std::vector<std::string> arguments;
  std::string partition;
  bool problem_state = false;
};

absl::StatusOr<hcall::HcallRequest> ParseRequest(const HcallOptions& options) {
  hcall::HcallRequest request;
  request.problem_state = options.problem_state;
  if (absl::ascii_isdigit(static_cast<unsigned char>(options.call[0]))) {
    absl::StatusOr<uint64_t> opcode = ParseNumber(options.call);
    if (!opcode.ok()) return opcode.status();
    request.opcode = *opcode;
  } else {
    const std::optional<uint64_t> opcode = hcall::OpcodeByName(options.call);
    if (!opcode.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", options.call, "\" is no hcall: give a name such as H_ENTER, or 0xOPCODE"));
    }
    request.opcode = *opcode;
  }
  if (options.arguments.size() > request.registers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("an hcall has at most ",
                                                   request.registers.size(), " arguments, not ",
                                                   options.arguments.size()));
  }
  for (size_t i = 0; i < options.arguments.size(); ++i) {
    absl::StatusOr<uint64_t> value = ParseNumber(options.arguments[i]);
    if (!value.ok()) return value.status();
    request.registers[i] = *value;
  }
  return request;
}

void PrintResult(const Context& context, const HcallOptions& options,
                 const hcall::HcallRequest& request, const hcall::HcallResult& result,
                 const HcallView& view) {
  const auto count = static_cast<size_t>(result.output_count);
  if (context.json) {
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (size_t i = 0; i < count; ++i) outputs.push_back(Hex(result.registers[i]));
    PrintJson({{"partition", options.partition},
               {"hcall", std::string(hcall::OpcodeName(request.opcode))},
               {"opcode", Hex(request.opcode)},
               {"return_code", result.return_code},
               {"return_name", hcall::ReturnCodeName(result.return_code)},
               {"outputs", std::move(outputs)},
               {"decoded", view.json}});
    return;
  }
  absl::PrintF("%s (%d)\n", hcall::ReturnCodeName(result.return_code), result.return_code);
  for (size_t i = 0; i < count; ++i) absl::PrintF("  r%d = 0x%x\n", i + 4, result.registers[i]);
  for (const std::string& line : view.lines) absl::PrintF("%s\n", line);
}

int Hcall(const Context& context, const HcallOptions& options) {
  absl::StatusOr<hcall::HcallRequest> request = ParseRequest(options);
  if (!request.ok()) return FailUsage(std::string(request.status().message()));
  absl::StatusOr<AttachedPartition> partition = Attach(context, options.partition);
  if (!partition.ok()) return Fail(partition.status());
  absl::StatusOr<hcall::HcallResult> result = partition->hypervisor->Hcall(*request);
  if (!result.ok()) return Fail(result.status());
  PrintResult(context, options, *request, *result, ViewOutputs(*partition, *request, *result));
  return result->return_code == hcall::kHSuccess ? kExitOk : kExitNo;
}

}  // namespace

void AddHcallCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<HcallOptions>();
  CLI::App* command = app->add_subcommand(
      "hcall", "Issue one hcall; exit code 1 if it returns anything but H_SUCCESS");
  command->fallthrough();
  command->add_option("CALL", options->call, "Name (H_ENTER, h_enter, enter) or 0xOPCODE")
      ->required();
  command->add_option("ARGS", options->arguments,
                      "R4, R5, ...: up to nine numbers, decimal or 0x; missing ones are 0");
  command->add_option("--partition", options->partition, "The partition that issues it")
      ->required();
  command->add_flag("--problem-state", options->problem_state,
                    "The caller has MSR.PR set (PAPR refuses it)");
  command->footer(
      "\nExamples:\n"
      "  hptctl hcall H_ENTER 0 0x1000 0x123456789001 0x1000196 --partition lpar1\n"
      "  hptctl hcall H_READ 0x2000000000 0x1000 --partition lpar1      (four entries)\n"
      "  hptctl hcall H_REMOVE 0x80000000 0x1000 0x123456789000 --partition lpar1");
  command->callback([context, options] {
    context->action = [context, options] { return Hcall(*context, *options); };
  });
}

}  // namespace papr::client::hptctl
