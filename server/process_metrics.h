// The process_* metrics that Prometheus client libraries agree on, read from /proc/self at scrape,
// and hptd_build_info.

#ifndef SERVER_PROCESS_METRICS_H_
#define SERVER_PROCESS_METRICS_H_

#include <prometheus/collectable.h>

#include <vector>

namespace papr::server {

// Any thread may collect.
class ProcessMetrics : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace papr::server

#endif  // SERVER_PROCESS_METRICS_H_
