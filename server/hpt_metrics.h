// Gauges of the page tables: hptd_partitions, hptd_hpt_entries, hptd_hpt_bytes, hptd_hpt_pteg_fill
// and hptd_hpt_secondary_ratio. A scrape looks at a bounded sample of each table.

#ifndef SERVER_HPT_METRICS_H_
#define SERVER_HPT_METRICS_H_

#include <prometheus/collectable.h>

#include <memory>
#include <vector>

#include "server/partition_registry.h"

namespace papr::server {

// Any thread may collect.
class HptMetrics : public prometheus::Collectable {
 public:
  explicit HptMetrics(std::shared_ptr<const PartitionRegistry> registry)
      : registry_(std::move(registry)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::shared_ptr<const PartitionRegistry> registry_;
};

}  // namespace papr::server

#endif  // SERVER_HPT_METRICS_H_
