// The adapter for QEMU: `hptctl conformance --adapter qemu_adapter` runs the vectors on a live
// qemu-system-ppc64.

#include <iostream>

#include "client/conformance/adapter_server.h"
#include "tests/conformance/qemu/qemu_machine.h"
#include "tests/conformance/qemu/qemu_pool.h"

int main() {
  using papr::conformance::QemuMachine;
  papr::conformance::QemuPool pool;
  papr::conformance::ServeAdapter(
      {papr::conformance::Column::kQemu, "QEMU, pseries machine without KVM"},
      [&pool](const papr::hcall::PartitionConfig& config) {
        return QemuMachine::Create(&pool, config);
      },
      std::cin, std::cout);
  return 0;
}
