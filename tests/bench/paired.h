// Compares two ways of doing the same work in one run: pairs A B and B A in turn, adjacent, so that
// what the machine does meanwhile falls on both; the figure is the median ratio of the pairs.

#ifndef TESTS_BENCH_PAIRED_H_
#define TESTS_BENCH_PAIRED_H_

#include <algorithm>
#include <vector>

namespace papr::bench {

struct PairedRatio {
  double median = 0;  // A over B
  double lower_quartile = 0;
  double upper_quartile = 0;
  double median_a = 0;  // as the callables measure, for example ns an operation
  double median_b = 0;
};

inline double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// `a` and `b` each do their work once and return what it cost, in the same unit.
template <typename A, typename B>
PairedRatio ComparePairs(int pairs, A&& a, B&& b) {
  std::vector<double> costs_a;
  std::vector<double> costs_b;
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    double cost_a = 0;
    double cost_b = 0;
    if (i % 2 == 0) {
      cost_a = a();
      cost_b = b();
    } else {
      cost_b = b();
      cost_a = a();
    }
    costs_a.push_back(cost_a);
    costs_b.push_back(cost_b);
    ratios.push_back(cost_a / cost_b);
  }
  return {Quantile(ratios, 0.5), Quantile(ratios, 0.25), Quantile(ratios, 0.75),
          Quantile(costs_a, 0.5), Quantile(costs_b, 0.5)};
}

}  // namespace papr::bench

#endif  // TESTS_BENCH_PAIRED_H_
