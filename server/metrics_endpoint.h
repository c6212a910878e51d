// The HTTP endpoint that Prometheus scrapes.
//
// Collectables are called from the endpoint's own threads.

#ifndef SERVER_METRICS_ENDPOINT_H_
#define SERVER_METRICS_ENDPOINT_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace prometheus {
class Exposer;
}

namespace papr::server {

class MetricsEndpoint {
 public:
  // Serves `collectables` at http://`address`/metrics. UNAVAILABLE: cannot listen, the address
  // named.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      ListenAddress address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables);
  ~MetricsEndpoint();

  // "http://127.0.0.1:9464/metrics", with the port that was taken.
  std::string url() const;

 private:
  MetricsEndpoint();

  ListenAddress address_;
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace papr::server

#endif  // SERVER_METRICS_ENDPOINT_H_
