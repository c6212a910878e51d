#include "client/hptctl/context.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/hptctl/interrupt.h"
#include "client/machine.h"

namespace papr::client::hptctl {
namespace {

// A sentence about what to do, where there is one.
absl::string_view Remedy(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return "start it with hptd, or name another with --target HOST:PORT or HPTD_TARGET";
    case absl::StatusCode::kNotFound:
      return absl::StrContains(status.message(), "partition")
                 ? "hptctl partition list shows those that exist"
                 : "";
    case absl::StatusCode::kAlreadyExists:
      return "choose another name, or delete that one with hptctl partition delete";
    default:
      return "";
  }
}

}  // namespace

int Fail(const absl::Status& status) {
  absl::FPrintF(stderr, "hptctl: %s\n", status.message());
  if (const absl::string_view remedy = Remedy(status); !remedy.empty()) {
    absl::FPrintF(stderr, "  %s\n", remedy);
  }
  if (absl::IsCancelled(status) && Interrupted()) return kExitSignal + InterruptSignal();
  const bool transport = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return transport ? kExitTransport : kExitRefused;
}

int FailUsage(std::string_view message) {
  absl::FPrintF(stderr, "hptctl: %s\nRun with --help for more information.\n",
                absl::string_view(message.data(), message.size()));
  return kExitUsage;
}

bool CheckTarget(const Context& context) {
  if (context.target == kLocalTarget) {
    if (context.local_allowed) return true;
    FailUsage("this command needs a daemon: give --target HOST:PORT or unix:/PATH, not local");
    return false;
  }
  const absl::Status status = Connection::CheckAddress(context.target);
  if (!status.ok()) FailUsage(absl::StrCat("--target ", status.message()));
  return status.ok();
}

absl::StatusOr<std::shared_ptr<Connection>> Connect(const Context& context) {
  return Connection::Open(context.target);
}

absl::StatusOr<uint64_t> ParseNumber(std::string_view text) {
  const absl::string_view digits(text.data(), text.size());
  uint64_t value = 0;
  const bool hex = absl::StartsWith(digits, "0x") || absl::StartsWith(digits, "0X");
  if (hex ? absl::SimpleHexAtoi(digits, &value) : absl::SimpleAtoi(digits, &value)) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", digits, "\" is no 64-bit number (decimal, or hexadecimal with 0x)"));
}

std::string Hex(uint64_t value) { return absl::StrFormat("0x%x", value); }

void PrintJson(const nlohmann::ordered_json& document) {
  // A file's name may be any bytes, a document only UTF-8.
  const std::string text = document.dump(2, ' ', /*ensure_ascii=*/false,
                                         nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

int FinishOutput(int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written) return exit_code;
  const absl::string_view why = errno != 0 ? std::strerror(errno) : "an earlier write failed";
  absl::FPrintF(stderr, "hptctl: cannot write to standard output: %s\n", why);
  return exit_code == kExitOk || exit_code == kExitNo ? kExitRefused : exit_code;
}

}  // namespace papr::client::hptctl
