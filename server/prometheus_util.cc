#include "server/prometheus_util.h"

#include <limits>
#include <utility>

namespace papr::server {
namespace {

prometheus::MetricFamily Family(std::string name, std::string help, prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

prometheus::ClientMetric& AddMetric(prometheus::MetricFamily& family, Labels labels) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  return metric;
}

}  // namespace

prometheus::MetricFamily CounterFamily(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), prometheus::MetricType::Counter);
}

prometheus::MetricFamily GaugeFamily(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
}

prometheus::MetricFamily HistogramFamily(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), prometheus::MetricType::Histogram);
}

void AddCounter(prometheus::MetricFamily& family, Labels labels, double value) {
  AddMetric(family, std::move(labels)).counter.value = value;
}

void AddGauge(prometheus::MetricFamily& family, Labels labels, double value) {
  AddMetric(family, std::move(labels)).gauge.value = value;
}

void AddHistogram(prometheus::MetricFamily& family, Labels labels, std::span<const double> bounds,
                  std::span<const uint64_t> counts, double sum) {
  auto& histogram = AddMetric(family, std::move(labels)).histogram;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({cumulative, bound});
  }
  histogram.sample_count = cumulative;
  histogram.sample_sum = sum;
}

}  // namespace papr::server
