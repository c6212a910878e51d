#include "client/workload/paired_ratio.h"

#include <algorithm>
#include <random>
#include <vector>

namespace papr::client {
namespace {

constexpr int kResamples = 2000;

// Reorders `values`.
double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

std::optional<PairedRatio> ComparePaired(std::span<const double> values,
                                         std::span<const double> baseline, uint64_t seed) {
  if (values.size() != baseline.size() || values.size() < kMinPairs) return std::nullopt;
  std::vector<double> ratios(values.size());
  for (size_t i = 0; i < values.size(); ++i) ratios[i] = values[i] / baseline[i];

  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> pick(0, ratios.size() - 1);
  std::vector<double> medians(kResamples);
  std::vector<double> sample(ratios.size());
  for (double& median : medians) {
    for (double& value : sample) value = ratios[pick(random)];
    median = Median(sample);
  }
  std::sort(medians.begin(), medians.end());
  PairedRatio result;
  result.low = medians[kResamples / 40];
  result.high = medians[kResamples - 1 - kResamples / 40];
  result.pairs = ratios.size();
  result.median = Median(ratios);
  return result;
}

}  // namespace papr::client
