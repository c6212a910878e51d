#include "tests/conformance/qemu/qemu_program.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace papr::conformance {

std::string QemuProgram() {
  const char* program = std::getenv("HPTD_QEMU");
  return program == nullptr ? "qemu-system-ppc64" : program;
}

absl::StatusOr<std::string> QemuVersion() {
  std::array<char, 256> line{};
  int major = 0;
  int minor = 0;
  if (std::FILE* out = popen(absl::StrCat(QemuProgram(), " --version").c_str(), "r")) {
    const bool read = std::fgets(line.data(), line.size(), out) != nullptr;
    pclose(out);
    if (read && std::sscanf(line.data(), "QEMU emulator version %d.%d", &major, &minor) == 2) {
      return absl::StrCat(major, ".", minor);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("cannot run ", QemuProgram(),
                   ": install qemu-system-ppc, or name another in the environment as HPTD_QEMU"));
}

}  // namespace papr::conformance
