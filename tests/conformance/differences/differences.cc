// Prints hcall/DIFFERENCES.md: differences QEMU.json, where QEMU.json is what
// `hptctl conformance --adapter qemu_adapter --json` printed. hptd's answers are found here.

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "client/machine.h"
#include "tests/conformance/differences/difference_table.h"

namespace papr::conformance {
namespace {

absl::StatusOr<RunRecord> RunLocally(Column column, const char* name) {
  absl::StatusOr<SuiteReport> report = RunSuite(
      BuiltInScripts(), column,
      [](const Case& each) { return client::CreateMachine("local", "differences", each.config); },
      {});
  if (!report.ok()) return report.status();
  return RecordOf(*report, name);
}

absl::StatusOr<std::string> Document(const std::string& qemu_path) {
  const nlohmann::json document =
      nlohmann::json::parse(std::ifstream(qemu_path), nullptr, /*allow_exceptions=*/false);
  absl::StatusOr<RunRecord> qemu = RecordOf(document);
  if (!qemu.ok()) return qemu.status();
  absl::StatusOr<RunRecord> kvm_hv = RunLocally(Column::kKvmHv, "hptd, profile `kvm-hv`");
  if (!kvm_hv.ok()) return kvm_hv.status();
  absl::StatusOr<RunRecord> qemu_tcg = RunLocally(Column::kQemuTcg, "hptd, profile `qemu-tcg`");
  if (!qemu_tcg.ok()) return qemu_tcg.status();
  return DifferencesDocument(BuiltInScripts(), {*kvm_hv, *qemu_tcg, *qemu});
}

}  // namespace
}  // namespace papr::conformance

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: differences QEMU.json\n";
    return 2;
  }
  const absl::StatusOr<std::string> text = papr::conformance::Document(argv[1]);
  if (!text.ok()) {
    std::cerr << "differences: " << text.status().message() << "\n";
    return 1;
  }
  std::cout << *text;
  return std::cout.good() ? 0 : 1;
}
