#include "tests/conformance/qemu/qemu_process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/qemu/qemu_program.h"

namespace papr::conformance {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPatienceAtEnd = std::chrono::seconds(2);

std::vector<std::string> CommandLine(const QemuSettings& settings, int ram) {
  // The capabilities that are switched off are those that TCG would warn of.
  const std::string machine = absl::StrCat(
      "pseries,accel=tcg,usb=off,memory-backend=ram,cap-cfpc=broken,cap-sbbc=broken,"
      "cap-ibs=broken,cap-ccf-assist=off,cap-hpt-max-page-size=",
      settings.large_pages ? "16m" : "64k",
      ",resize-hpt=", settings.resize ? "enabled" : "disabled");
  const std::string memory =
      absl::StrCat("memory-backend-file,id=ram,share=on,size=", settings.ram_bytes,
                   ",mem-path=/proc/self/fd/", ram);
  return {QemuProgram(), "-machine",    machine,
          "-cpu",        "power8",      "-smp",
          "1",           "-m",          absl::StrCat(settings.ram_bytes >> 20, "M"),
          "-object",     memory,        "-bios",
          GUEST_IMAGE,   "-S",          "-qmp",
          "stdio",       "-nodefaults", "-display",
          "none",        "-serial",     "none",
          "-net",        "none",        "-no-user-config"};
}

absl::Status SystemError(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<QemuProcess>> QemuProcess::Start(const QemuSettings& settings) {
  // A file in memory that QEMU opens by our descriptor's name: nothing to clean up.
  const int file = memfd_create("guest-ram", MFD_CLOEXEC);
  if (file < 0) return SystemError("memfd_create");
  if (ftruncate(file, static_cast<off_t>(settings.ram_bytes)) != 0) {
    close(file);
    return SystemError("ftruncate");
  }
  void* const mapping =
      mmap(nullptr, settings.ram_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    close(file);
    return SystemError("mmap");
  }
  const std::span ram(static_cast<std::byte*>(mapping), settings.ram_bytes);
  auto process =
      ChildProcess::Start(CommandLine(settings, file), {.inherited = {file}, .keep_error = true});
  close(file);
  if (!process.ok()) {
    munmap(mapping, settings.ram_bytes);
    return process.status();
  }
  std::unique_ptr<QemuProcess> qemu(new QemuProcess(settings, ram, *std::move(process)));
  if (const absl::Status status = qemu->control_.Connect(); !status.ok()) {
    return qemu->Explain(status);
  }
  return qemu;
}

QemuProcess::QemuProcess(const QemuSettings& settings, std::span<std::byte> ram,
                         std::unique_ptr<ChildProcess> process)
    : settings_(settings),
      ram_(ram),
      process_(std::move(process)),
      control_(process_.get(), kPatience),
      mailbox_(ram, kPatience) {}

QemuProcess::~QemuProcess() {
  if (usable() && control_.Execute("quit").ok()) process_->WaitOrKill(kPatienceAtEnd);
  munmap(ram_.data(), ram_.size());
}

absl::Status QemuProcess::Explain(const absl::Status& status) {
  if (status.ok()) return status;
  failed_ = true;
  // QEMU may be dying just now: its output closes before it can be waited for.
  process_->WaitOrKill(absl::IsAborted(status) ? std::chrono::milliseconds(1000)
                                               : std::chrono::milliseconds(0));
  if (!absl::IsAborted(status)) return status;
  return absl::AbortedError(absl::StrCat("QEMU has ended: ", process_->LastWords()));
}

absl::Status QemuProcess::Reset() {
  if (const absl::Status status = Pause(); !status.ok()) return status;
  mailbox_.Clear();
  absl::Status status = control_.ExecuteAndAwait("system_reset", "RESET");
  if (status.ok()) status = control_.Execute("cont");
  if (!status.ok()) return Explain(status);
  return Explain(mailbox_.AwaitReady(
      [this] { return process_->Running() ? absl::OkStatus() : absl::AbortedError(""); }));
}

absl::Status QemuProcess::Pause() { return Explain(control_.Execute("stop")); }

absl::StatusOr<GuestRegisters> QemuProcess::Call(uint64_t operation,
                                                 const GuestRegisters& registers) {
  if (!usable()) return Explain(absl::AbortedError(""));
  auto answer = mailbox_.Call(operation, registers, [this] {
    return process_->Running() ? absl::OkStatus() : absl::AbortedError("");
  });
  if (!answer.ok()) return Explain(answer.status());
  return answer;
}

}  // namespace papr::conformance
