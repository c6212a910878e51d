#include "client/connection.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace papr::client {
namespace {

bool IsPort(absl::string_view text) {
  uint32_t port = 0;
  return absl::c_all_of(text, absl::ascii_isdigit) && absl::SimpleAtoi(text, &port) && port >= 1 &&
         port <= std::numeric_limits<uint16_t>::max();
}

// HOST:PORT; a HOST that has colons of its own, an IPv6 address, is in brackets.
bool IsHostAndPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(text.substr(colon + 1))) return false;
  const absl::string_view host = text.substr(0, colon);
  if (absl::StartsWith(host, "[")) return host.size() > 2 && host.find(']') == host.size() - 1;
  return !host.empty() && !absl::StrContains(host, ':');
}

// The address as gRPC takes it, which itself takes almost anything: no port means 443 to it, and of
// a port above 65535 it uses the low bits.
absl::StatusOr<std::string> GrpcTarget(const std::string& address) {
  if (absl::StartsWith(address, "/")) return absl::StrCat("unix:", address);
  if (absl::StartsWith(address, "unix:") && address != "unix:") return address;
  if (IsHostAndPort(address)) return address;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", address, "\" is no address: give HOST:PORT (PORT 1 to 65535), unix:/PATH or local"));
}

}  // namespace

absl::Status Connection::CheckAddress(std::string_view address) {
  return GrpcTarget(std::string(address)).status();
}

absl::StatusOr<std::shared_ptr<Connection>> Connection::Open(std::string_view address,
                                                             std::chrono::seconds timeout) {
  absl::StatusOr<std::string> target = GrpcTarget(std::string(address));
  if (!target.ok()) return target.status();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Loopback daemons are restarted by hand: meet a new one soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A Connection is one TCP connection, never one that another in this process shares.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(*target, grpc::InsecureChannelCredentials(), arguments);
  return std::shared_ptr<Connection>(
      new Connection(std::string(address), timeout, std::move(channel)));
}

Connection::Connection(std::string address, std::chrono::seconds timeout,
                       std::shared_ptr<grpc::Channel> channel)
    : address_(std::move(address)), timeout_(timeout), channel_(std::move(channel)) {}

void Connection::Prepare(grpc::ClientContext* context) const {
  context->set_wait_for_ready(false);
  context->set_deadline(std::chrono::system_clock::now() + timeout_);
}

absl::Status Connection::ToStatus(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      // A daemon that is up may say so too, while it drains.
      if (channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY) {
        return absl::Status(code, absl::StrCat("hptd at ", address_, ": ", status.error_message()));
      }
      return absl::Status(code, absl::StrCat("cannot reach hptd at ", address_, ": ",
                                             status.error_message(), "; is it running?"));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::Status(code, absl::StrCat("hptd at ", address_, " did not answer within ",
                                             timeout_.count(), " s"));
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::Status(code, absl::StrCat("what listens at ", address_,
                                             " does not serve this call: ", status.error_message(),
                                             "; is it hptd?"));
    default:
      return absl::Status(code, status.error_message());
  }
}

}  // namespace papr::client
