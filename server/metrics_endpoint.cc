#include "server/metrics_endpoint.h"

#include <prometheus/exposer.h>

#include <chrono>
#include <exception>
#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace papr::server {
namespace {

// A connection takes a thread until its request is answered, or for the timeout: a few clients
// that stop half way must not keep a scrape waiting. The threads sleep otherwise.
constexpr char kThreads[] = "16";
constexpr char kRequestTimeoutMs[] = "3000";

}  // namespace

MetricsEndpoint::MetricsEndpoint() = default;

// civetweb looks only every 2 s whether it should stop, unless somebody connects.
MetricsEndpoint::~MetricsEndpoint() {
  if (exposer_ == nullptr) return;
  const std::future<void> done = std::async(std::launch::async, [this] { exposer_.reset(); });
  while (done.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    Knock(address_);
  }
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    ListenAddress address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables) {
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint);
  // civetweb, below prometheus-cpp, takes addresses only.
  ListenAddress bind = address;
  if (bind.host == "localhost") bind.host = "127.0.0.1";
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", bind.ToString(), "num_threads", kThreads,
                                 "request_timeout_ms", kRequestTimeoutMs});
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
