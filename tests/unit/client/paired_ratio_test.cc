#include "client/workload/paired_ratio.h"

#include <gtest/gtest.h>

#include <vector>

namespace papr::client {
namespace {

TEST(PairedRatioTest, MedianOfPairsIgnoresOutliers) {
  std::vector<double> baseline(12, 2.0);
  std::vector<double> values(12, 3.0);
  values[0] = 300;
  const auto ratio = ComparePaired(values, baseline, 1);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->median, 1.5);
  EXPECT_DOUBLE_EQ(ratio->low, 1.5);
  EXPECT_EQ(ratio->pairs, 12u);
}

TEST(PairedRatioTest, TheIntervalHoldsTheMedianAndIsDeterminedBySeed) {
  std::vector<double> baseline(21, 1.0);
  std::vector<double> values;
  for (int i = 0; i < 21; ++i) values.push_back(1.0 + 0.01 * i);
  const auto one = ComparePaired(values, baseline, 7);
  const auto two = ComparePaired(values, baseline, 7);
  ASSERT_TRUE(one.has_value());
  EXPECT_DOUBLE_EQ(one->median, 1.1);
  EXPECT_LT(one->low, one->median);
  EXPECT_GT(one->high, one->median);
  EXPECT_EQ(one->low, two->low);
  EXPECT_EQ(one->high, two->high);
}

TEST(PairedRatioTest, FewPairsSayNothing) {
  const std::vector<double> ten(10, 1.0);
  const std::vector<double> eleven(11, 1.0);
  EXPECT_FALSE(ComparePaired(ten, ten, 1).has_value());
  EXPECT_TRUE(ComparePaired(eleven, eleven, 1).has_value());
  EXPECT_FALSE(ComparePaired(eleven, ten, 1).has_value());
}

}  // namespace
}  // namespace papr::client
