#include "client/connection.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace papr::client {
namespace {

// The address as gRPC takes it. A name without a port would quietly mean port 443.
absl::StatusOr<std::string> GrpcTarget(const std::string& address) {
  if (absl::StartsWith(address, "/")) return absl::StrCat("unix:", address);
  if (absl::StartsWith(address, "unix:")) return address;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is no address: give HOST:PORT, unix:/PATH or local"));
  }
  return address;
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
