// The adapter for QEMU: `hptctl conformance --adapter qemu_adapter` runs the vectors on a live
// qemu-system-ppc64.

#include <iostream>

#include "client/conformance/adapter_server.h"
#include "tests/conformance/qemu/qemu_machine.h"
#include "tests/conformance/qemu/qemu_pool.h"
#include "tests/conformance/qemu/qemu_program.h"

namespace papr::conformance {
namespace {

int Main() {
  const absl::StatusOr<std::string> version = QemuVersion();
  if (!version.ok()) {
    std::cerr << "qemu_adapter: " << version.status().message() << "\n";
    return 1;
  }
  QemuPool pool;
  const auto make_machine = [&pool](const hcall::PartitionConfig& config) {
    return QemuMachine::Create(&pool, config);
  };
  ServeAdapter({Column::kQemu, "QEMU " + *version + ", pseries machine without KVM"}, make_machine,
               std::cin, std::cout);
  return 0;
}

}  // namespace
}  // namespace papr::conformance

int main() { return papr::conformance::Main(); }
