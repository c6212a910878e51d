// Compares two variants that were timed in turns: the median of the ratios of the pairs, with a
// bootstrap interval. Pure functions.

#ifndef CLIENT_WORKLOAD_PAIRED_RATIO_H_
#define CLIENT_WORKLOAD_PAIRED_RATIO_H_

#include <cstdint>
#include <optional>
#include <span>

namespace papr::client {

struct PairedRatio {
  double median = 0;
  double low = 0;  // 2.5 % and 97.5 % quantiles of the median over resampled pairs
  double high = 0;
  size_t pairs = 0;
};

// Fewer pairs say nothing about the spread.
inline constexpr size_t kMinPairs = 11;

// Ratios values[i] / baseline[i]. Nothing if there are fewer than kMinPairs or the lengths differ.
// Resampling is determined by `seed`.
std::optional<PairedRatio> ComparePaired(std::span<const double> values,
                                         std::span<const double> baseline, uint64_t seed);

}  // namespace papr::client

#endif  // CLIENT_WORKLOAD_PAIRED_RATIO_H_
