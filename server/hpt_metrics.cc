#include "server/hpt_metrics.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "server/prometheus_util.h"

namespace papr::server {
namespace {

void Add(const hcall::HptStatistics& from, hcall::HptStatistics& to) {
  to.table_bytes += from.table_bytes;
  to.valid += from.valid;
  to.bolted += from.bolted;
  to.secondary += from.secondary;
  for (size_t i = 0; i < to.pteg_fill.size(); ++i) to.pteg_fill[i] += from.pteg_fill[i];
}

}  // namespace

std::vector<prometheus::MetricFamily> HptMetrics::Collect() const {
  const auto all = registry_->List({}, std::numeric_limits<size_t>::max());
  const uint64_t share =
      std::max(kScrapePtegsAtLeast, kScrapePtegs / std::max<uint64_t>(all.size(), 1));
  std::map<std::string, hcall::HptStatistics> by_label;
  for (const auto& served : all) {
    Add(served->partition->SampleStatistics(share), by_label[served->cells->label()]);
  }

  auto partitions = GaugeFamily("hptd_partitions", "Partitions that exist.");
  auto entries = GaugeFamily("hptd_hpt_entries",
                             "HPT entries: valid ones, the bolted ones among them, and free ones; "
                             "estimated from a sample.");
  auto bytes = GaugeFamily("hptd_hpt_bytes", "Size of the HPT, 2 to the power of its order.");
  auto fill =
      GaugeFamily("hptd_hpt_pteg_fill",
                  "PTEGs by the number of valid entries they hold; estimated from a sample.");
  auto secondary = GaugeFamily("hptd_hpt_secondary_ratio",
                               "Part of the valid entries that sit in their secondary PTEG; "
                               "estimated from a sample.");
  AddGauge(partitions, {}, static_cast<double>(all.size()));
  for (const auto& [label, hpt] : by_label) {
    const uint64_t slots = hpt.table_bytes / sizeof(mmu::Hpte);
    const auto valid = static_cast<double>(hpt.valid);
    AddGauge(entries, {{"partition", label}, {"state", "valid"}}, valid);
    AddGauge(entries, {{"partition", label}, {"state", "bolted"}}, static_cast<double>(hpt.bolted));
    AddGauge(entries, {{"partition", label}, {"state", "free"}},
             static_cast<double>(slots - std::min(hpt.valid, slots)));
    AddGauge(bytes, {{"partition", label}}, static_cast<double>(hpt.table_bytes));
    for (size_t i = 0; i < hpt.pteg_fill.size(); ++i) {
      AddGauge(fill, {{"partition", label}, {"entries", std::to_string(i)}},
               static_cast<double>(hpt.pteg_fill[i]));
    }
    AddGauge(secondary, {{"partition", label}},
             hpt.valid == 0 ? 0 : static_cast<double>(hpt.secondary) / valid);
  }
  std::vector<prometheus::MetricFamily> out;
  for (auto* family : {&partitions, &entries, &bytes, &fill, &secondary}) {
    out.push_back(std::move(*family));
  }
  return out;
}

}  // namespace papr::server
