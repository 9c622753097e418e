#include "tally/metrics/nominal/fleiss_kappa.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double kappa(const at::Tensor& ratings, FleissMode mode = FleissMode::kCounts) {
  const FleissKappa metric(mode);
  return metric.evaluate(metric.observe(ratings)).item<double>();
}

at::Tensor counts(const std::vector<std::int64_t>& values,
                  std::int64_t categories) {
  return at::tensor(values, at::kLong).view({-1, categories});
}

// Of Fleiss 1971 as Wikipedia has it: 10 subjects, 14 raters, 5 categories.
TEST(FleissKappaTest, OfTheTextbookTable) {
  const at::Tensor table =
      counts({0, 0, 0, 0, 14, 0, 2, 6, 4, 2, 0, 0, 3, 5, 6, 0, 3,
              9, 2, 0, 2, 2,  8, 1, 1, 7, 7, 0, 0, 0, 3, 2, 6, 3,
              0, 2, 5, 3, 2,  2, 6, 5, 2, 1, 0, 0, 2, 2, 3, 7},
             5);
  EXPECT_NEAR(kappa(table), 0.20993070442195524, 1e-14);
}

TEST(FleissKappaTest, TakesRowsOfDifferentRaters) {
  // P = (1 + 1/3 + 0) / 3, of 2, 3 and 2 raters; 4 and 3 ratings of 7.
  const double observed = 4.0 / 9;
  const double expected = (16 + 9) / 49.0;
  EXPECT_NEAR(kappa(counts({2, 0, 1, 2, 1, 1}, 2)),
              (observed - expected) / (1 - expected), 1e-15);
  // A row with a single rating has no pair, but a category; an empty one, none.
  const double more = (16 + 16) / 64.0;
  EXPECT_NEAR(kappa(counts({2, 0, 1, 2, 1, 1, 0, 1, 0, 0}, 2)),
              (observed - more) / (1 - more), 1e-15);
}

TEST(FleissKappaTest, IsUndefinedForASingleCategory) {
  EXPECT_TRUE(std::isnan(kappa(counts({0, 7, 0, 0, 7, 0}, 3))));
  EXPECT_TRUE(std::isnan(kappa(counts({1, 0, 0, 0, 1, 0}, 3))));
  EXPECT_TRUE(std::isnan(FleissKappa().compute().item<double>()));
  EXPECT_EQ(kappa(counts({5, 0, 0, 5, 5, 0}, 2)), 1);
}

TEST(FleissKappaTest, CountsTheChoicesOfScores) {
  // 4 categories and 2 raters.
  const at::Tensor scores =
      at::tensor({1.f, 0.f, 3.f, 0.f, 0.f, 9.f, 2.f, 2.f,   // 1 and 2
                  5.f, 1.f, 5.f, 1.f, 0.f, 1.f, 0.f, 1.f,   // 0 and 0
                  0.f, 0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 3.f})  // 2 and 3
          .view({3, 4, 2});
  EXPECT_EQ(kappa(scores, FleissMode::kProbs),
            kappa(counts({0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 1, 1}, 4)));
}

TEST(FleissKappaTest, KeepsSumsAlone) {
  FleissKappa metric;
  const at::Tensor ratings = at::randint(4, {640, 3}, at::kLong);
  for (std::int64_t i = 0; i < 10; ++i) {
    metric.update(ratings.narrow(0, 64 * i, 64));
  }
  EXPECT_EQ(metric.state()["categories"].sizes(), at::IntArrayRef{3});
  EXPECT_NEAR(metric.compute().item<double>(), kappa(ratings), 1e-13);
}

TEST(FleissKappaTest, NanGoesByThePolicy) {
  const at::Tensor scores = at::tensor({3.f, 1.f, 2.f, 1.f, 2.f, kNaN,  //
                                        1.f, 0.f, 1.f, 2.f, 3.f, 0.f})
                                .view({2, 2, 3});
  EXPECT_TRUE(std::isnan(kappa(scores, FleissMode::kProbs)));
  FleissKappa ignoring(FleissMode::kProbs,
                       MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(scores);
  EXPECT_EQ(ignoring.compute().item<double>(), kappa(counts({1, 1, 1, 2}, 2)));
  FleissKappa refusing(FleissMode::kProbs,
                       MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_EQ(refusal_of([&] { refusing.update(scores); }),
            "expected ratings without NaN, got some (FleissKappa)");
}

TEST(FleissKappaTest, RefusesWhatIsNoRating) {
  FleissKappa metric;
  EXPECT_EQ(refusal_of([&] {
              metric.update(counts({1, 2, -1, 4}, 2));
            }),
            "expected counts of at least 0 in ratings, got -1 at [1, 0] "
            "(FleissKappa)");
  EXPECT_EQ(
      refusal_of<c10::TypeError>([&] {
        metric.update(at::ones({2, 2}));
      }),
      "expected ratings of an integer dtype, got Float; for whole numbers "
      "pass ratings.to(at::kLong) (FleissKappa)");
  EXPECT_EQ(refusal_of([&] { metric.update(at::ones({2}, at::kLong)); }),
            "expected ratings of shape [N, C], C at least 1, with mode counts, "
            "got [2] (FleissKappa)");
  FleissKappa chosen(FleissMode::kProbs);
  EXPECT_EQ(refusal_of<c10::TypeError>([&] {
              chosen.update(at::ones({2, 2, 2}, at::kLong));
            }),
            "expected ratings of a floating-point dtype, got Long "
            "(FleissKappa)");
  EXPECT_EQ(refusal_of([&] {
              chosen.update(at::ones({2, 2}));
            }),
            "expected ratings of shape [N, C, raters], C at least 1, with mode "
            "probs, got [2, 2] (FleissKappa)");
  metric.update(counts({1, 2}, 2));
  EXPECT_THAT(refusal_of([&] {
                metric.update(counts({1, 2, 3}, 3));
              }),
              HasSubstr("state 'categories' holds Long [2]"));
  EXPECT_EQ(metric.update_count(), 1);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(refusal_of([&] {
                metric.update(counts({most, 1}, 2));
              }),
              HasSubstr("less than 2^63"));
}

}  // namespace
}  // namespace tally
