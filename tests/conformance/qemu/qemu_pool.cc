#include "tests/conformance/qemu/qemu_pool.h"

#include <utility>

namespace papr::conformance {

absl::StatusOr<std::unique_ptr<QemuProcess>> QemuPool::Acquire(const QemuSettings& settings) {
  std::unique_ptr<QemuProcess> process = std::move(idle_);
  if (process != nullptr && process->settings() == settings && process->Reset().ok()) {
    return process;
  }
  process.reset();
  auto started = QemuProcess::Start(settings);
  if (!started.ok()) return started.status();
  if (const absl::Status status = (*started)->Reset(); !status.ok()) return status;
  return started;
}

void QemuPool::Release(std::unique_ptr<QemuProcess> process) {
  if (process->usable() && process->Pause().ok()) idle_ = std::move(process);
}

}  // namespace papr::conformance
