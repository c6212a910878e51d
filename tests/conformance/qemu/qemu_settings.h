// What a QEMU pseries machine is told on its command line, and which partitions it can be. Plain
// data and pure functions.

#ifndef TESTS_CONFORMANCE_QEMU_QEMU_SETTINGS_H_
#define TESTS_CONFORMANCE_QEMU_QEMU_SETTINGS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "hcall/partition_config.h"

namespace papr::conformance {

struct QemuSettings {
  uint64_t ram_bytes = 0;    // one region from 0
  bool large_pages = false;  // pages of 16 MB
  bool resize = true;        // false: the resize calls answer H_AUTHORITY

  friend bool operator==(const QemuSettings&, const QemuSettings&) = default;
};

// The machine that is `config`, but for the order of its table. UNIMPLEMENTED, what it is named: no
// machine of QEMU 7.2 is.
absl::StatusOr<QemuSettings> SettingsFor(const hcall::PartitionConfig& config);

// Order of the table that such a machine starts with.
int NativeOrder(const QemuSettings& settings);

// The page sizes of pseries with cap-hpt-max-page-size=16m.
const mmu::PageSizeTable& QemuLargePages();

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QEMU_SETTINGS_H_
