#include "tally/metrics/common/exact_sums.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tally::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double sum_of(const std::vector<double>& terms) {
  ExactSums sums(1);
  for (const double term : terms) sums.add(0, term);
  return ExactSums::value(sums.tensor());
}

TEST(ExactSumsTest, TheOrderAndTheSplitDoNotShow) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> terms(1000);
  for (double& term : terms) term = std::pow(uniform(random), 9) * 1e3;
  const double expected = sum_of(terms);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_EQ(sum_of(terms), expected);
    const std::size_t cut = random() % terms.size();
    ExactSums first(1), second(1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      (i < cut ? first : second).add(0, terms[i]);
    }
    EXPECT_EQ(ExactSums::value(first.tensor().add(second.tensor())), expected);
  }
}

TEST(ExactSumsTest, SumsAreExact) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({0.1}), 0.1);
  EXPECT_EQ(sum_of({-0.1}), -0.1);
  EXPECT_EQ(sum_of({1e9, 0x1p-44, -1e9}), 0x1p-44);
  EXPECT_EQ(sum_of({-1e9, -0x1p-44, 1e9}), -0x1p-44);
  EXPECT_EQ(sum_of({1.0 / 3, -1.0 / 3}), 0);
  EXPECT_EQ(sum_of({0.1, 0.2, 0.3}), 0.6);  // in doubles 0.6000000000000001
  EXPECT_EQ(sum_of({-2.5, 0.25}), -2.25);
  EXPECT_EQ(sum_of({0x1p-95}), 0x1p-95);
  EXPECT_EQ(sum_of({0x1p-98}), 0);
}

TEST(ExactSumsTest, RoundsOnce) {
  // Half of the last digit of 1 and a little more, and exactly half.
  EXPECT_EQ(sum_of({1, 0x1p-53, 0x1p-90}), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1, 0x1p-53}), 1);
  EXPECT_EQ(sum_of({-1, -0x1p-53, -0x1p-90}), -1 - 0x1p-52);
  EXPECT_EQ(sum_of({0x1p30, 0x1p-23, 0x1p-96}), 0x1p30 + 0x1p-22);
}

TEST(ExactSumsTest, WhatIsNotFiniteDecides) {
  EXPECT_EQ(sum_of({1, kInfinity, -2}), kInfinity);
  EXPECT_EQ(sum_of({1, -kInfinity}), -kInfinity);
  EXPECT_TRUE(std::isnan(sum_of({kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(sum_of({kNaN, kInfinity})));
}

TEST(ExactSumsTest, SumsAreSeparate) {
  ExactSums sums(3);
  sums.add(0, 0.5);
  sums.add(2, -0.25);
  sums.add(2, kInfinity);
  EXPECT_EQ(ExactSums::value(sums.tensor(), 0), 0.5);
  EXPECT_EQ(ExactSums::value(sums.tensor(), 1), 0);
  EXPECT_EQ(ExactSums::value(sums.tensor(), 2), kInfinity);
  EXPECT_EQ(ExactSums::value(at::Tensor()), 0);
}

TEST(ExactSumsTest, TensorsOfOtherShapesAreRefused) {
  EXPECT_THROW(ExactSums::value(ExactSums(2).tensor(), 2), c10::ValueError);
  EXPECT_THROW(ExactSums::value(at::empty({7}, at::kLong)), c10::ValueError);
  EXPECT_THROW(ExactSums::value(at::empty({1, 6}, at::kLong)), c10::ValueError);
  EXPECT_THROW(ExactSums::value(at::empty({1, 7})), c10::ValueError);
}

}  // namespace
}  // namespace tally::internal
