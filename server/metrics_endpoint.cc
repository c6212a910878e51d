#include "server/metrics_endpoint.h"

#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace papr::server {

MetricsEndpoint::MetricsEndpoint() = default;
MetricsEndpoint::~MetricsEndpoint() = default;

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    ListenAddress address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables) {
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint);
  // civetweb, below prometheus-cpp, takes addresses only.
  ListenAddress bind = address;
  if (bind.host == "localhost") bind.host = "127.0.0.1";
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(bind.ToString());
  } catch (const std::exception& failure) {
    const std::string why = WhyNoListening(bind);
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ",
                                               why.empty() ? failure.what() : why));
  }
  const std::vector<int> ports = endpoint->exposer_->GetListeningPorts();
  if (!ports.empty()) address.port = static_cast<uint16_t>(ports[0]);
  endpoint->address_ = std::move(address);
  endpoint->collectables_ = std::move(collectables);
  for (const auto& collectable : endpoint->collectables_) {
    endpoint->exposer_->RegisterCollectable(collectable);
  }
  return endpoint;
}

std::string MetricsEndpoint::url() const {
  return absl::StrCat("http://", address_.ToString(), "/metrics");
}

}  // namespace papr::server
