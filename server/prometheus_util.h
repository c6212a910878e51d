// Small builders for prometheus-cpp's plain data. Any thread may use them.

#ifndef SERVER_PROMETHEUS_UTIL_H_
#define SERVER_PROMETHEUS_UTIL_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace papr::server {

using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricFamily CounterFamily(std::string name, std::string help);
prometheus::MetricFamily GaugeFamily(std::string name, std::string help);
prometheus::MetricFamily HistogramFamily(std::string name, std::string help);

// Adds one sample; requires a family of the kind.
void AddCounter(prometheus::MetricFamily& family, Labels labels, double value);
void AddGauge(prometheus::MetricFamily& family, Labels labels, double value);
// `counts` are per bucket, not cumulative, one more than `bounds` for what is above the last bound.
void AddHistogram(prometheus::MetricFamily& family, Labels labels, std::span<const double> bounds,
                  std::span<const uint64_t> counts, double sum);

}  // namespace papr::server

#endif  // SERVER_PROMETHEUS_UTIL_H_
