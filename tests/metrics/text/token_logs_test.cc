#include "tally/metrics/text/kernels/token_logs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tally/tests/testing/vector_targets.h"

namespace tally::internal::text {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
double negative_log_of(std::vector<T> logits, std::int64_t token) {
  return negative_log(logits.data(), static_cast<std::int64_t>(logits.size()),
                      token);
}

// In the precision of long double.
template <class T>
double expected_log(const std::vector<T>& logits, std::size_t token) {
  const long double max = *std::max_element(logits.begin(), logits.end());
  long double sum = 0;
  for (const T logit : logits) sum += std::exp(logit - max);
  return static_cast<double>(std::log(sum) + (max - logits[token]));
}

template <class T>
void expect_logs_of(double scale) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, scale);
  for (std::size_t size = 1; size < 70; ++size) {
    std::vector<T> logits(size);
    for (T& logit : logits) logit = static_cast<T>(normal(random));
    for (const std::size_t token : {std::size_t{0}, size / 2, size - 1}) {
      const double expected = expected_log(logits, token);
      EXPECT_NEAR(negative_log_of(logits, static_cast<std::int64_t>(token)),
                  expected, 1e-13 * std::max(expected, 1.0))
          << size << " of scale " << scale << ", " << token;
    }
  }
}

TEST(TokenLogsTest, HaveThirteenDigits) {
  testkit::for_each_vector_target([] {
    for (const double scale : {1e-3, 1.0, 30.0, 700.0}) {
      expect_logs_of<float>(scale);
      expect_logs_of<double>(scale);
    }
  });
}

TEST(TokenLogsTest, OfLogitsFarApart) {
  testkit::for_each_vector_target([] {
    EXPECT_EQ(negative_log_of<double>({0, -kInf, -1e308}, 0), 0);
    EXPECT_EQ(negative_log_of<double>({0, -kInf, -1e308}, 1), kInf);
    EXPECT_EQ(negative_log_of<float>({800, -800, 0}, 1), 1600);
    // What is 0 from there on is next to nothing before.
    for (const double far : {-708.0, -708.5, -708.8, -709.0, -745.0}) {
      EXPECT_EQ(negative_log_of<double>({far, 0}, 1), 0);
      EXPECT_EQ(negative_log_of<double>({far, 0}, 0), -far);
    }
  });
}

TEST(TokenLogsTest, NaNWithoutAFiniteLargestLogit) {
  testkit::for_each_vector_target([] {
    for (const double odd : {kInf, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_TRUE(std::isnan(negative_log_of<double>({0, odd, 1}, 0)));
    }
    EXPECT_TRUE(std::isnan(negative_log_of<double>({-kInf, -kInf}, 0)));
  });
}

}  // namespace
}  // namespace tally::internal::text
