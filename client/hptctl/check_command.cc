// hptctl check: is a partition's table sound?

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/config_proto.h"
#include "client/hptctl/commands.h"
#include "client/partition_admin.h"
#include "mmu/table_check.h"

namespace papr::client::hptctl {
namespace {

struct CheckOptions {
  std::string partition;
  int max_findings = 100;
};

void PrintText(const CheckOptions& options, const mmu::TableCheckReport& report) {
  for (const mmu::TableFinding& finding : report.findings) {
    const std::string_view name = mmu::TableFaultName(finding.fault);
    absl::PrintF("ptex 0x%x: %s, v=0x%x r=0x%x", finding.ptex,
                 absl::string_view(name.data(), name.size()), finding.hpte.v, finding.hpte.r);
    if (finding.fault == mmu::TableFault::kDuplicate) {
      absl::PrintF(" (of ptex 0x%x)", finding.other);
    }
    absl::PrintF("\n");
  }
  if (report.findings.size() < report.faults) {
    absl::PrintF("... and %d more\n", report.faults - report.findings.size());
  }
  absl::PrintF("%s: %d valid entries, %d faults\n", options.partition, report.valid, report.faults);
}

nlohmann::ordered_json ToJson(const CheckOptions& options, const mmu::TableCheckReport& report) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const mmu::TableFinding& finding : report.findings) {
    nlohmann::ordered_json json = {{"fault", std::string(mmu::TableFaultName(finding.fault))},
                                   {"ptex", finding.ptex},
                                   {"v", Hex(finding.hpte.v)},
                                   {"r", Hex(finding.hpte.r)}};
    if (finding.fault == mmu::TableFault::kDuplicate) json["other"] = finding.other;
    findings.push_back(std::move(json));
  }
  return {{"partition", options.partition},
          {"valid", report.valid},
          {"faults", report.faults},
          {"findings", std::move(findings)}};
}

int Check(const Context& context, const CheckOptions& options) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<mmu::v1::CheckHptResponse> response =
      PartitionAdmin(*connection).Check(options.partition, options.max_findings);
  if (!response.ok()) return Fail(response.status());
  const mmu::TableCheckReport report = FromProto(*response);
  if (context.json) {
    PrintJson(ToJson(options, report));
  } else {
    PrintText(options, report);
  }
  return report.faults == 0 ? kExitOk : kExitNo;
}

}  // namespace

void AddCheckCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app->add_subcommand(
      "check", "Look for what a sound table does not hold; exit code 1 if there is any");
  command->fallthrough();
  command->add_option("--partition", options->partition, "The partition")->required();
  command->add_option("--max-findings", options->max_findings, "How many faults to list")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->footer(
      "\nFaults: two entries for one virtual page, an entry in a PTEG that its address does not "
      "hash\n"
      "to, page or segment sizes that do not exist, C without R, stray address bits.\n"
      "\nExample:\n  hptctl check --partition lpar1");
  command->callback([context, options] {
    context->action = [context, options] { return Check(*context, *options); };
  });
}

}  // namespace papr::client::hptctl
