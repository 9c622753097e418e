#include "tally/metrics/features/frechet_inception_distance.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/features/kernels/frechet_distance.h"
#include "tally/metrics/features/states/feature_moments.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Fid = FrechetInceptionDistance;

double fid_of(const at::Tensor& real, const at::Tensor& generated) {
  Fid metric;
  metric.update(real, true);
  metric.update(generated, false);
  return metric.compute().item<double>();
}

at::Tensor wide(std::int64_t rows, std::int64_t dims) {
  return at::randn({rows, dims}, at::kDouble);
}

TEST(FrechetInceptionDistanceTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.threads_rtol = 1e-12;
  // A column's standard deviation has a kink at 0.
  options.skip_gradients = {"constant_columns"};
  // Few samples, many times: their covariance is singular, and the roots of its
  // least eigenvalues are of rounding.
  const std::set<std::string> singular = {"few_real", "few_generated",
                                          "few_samples"};
  options.skip_cases = singular;
  const std::string fixture = "features/FrechetInceptionDistance";
  testkit::check_metric<Fid>(fixture, options);
  options.threads_rtol = 1e-7;
  options.skip_cases.clear();
  for (const testkit::FixtureCase& one : testkit::read_fixture(fixture)) {
    if (singular.count(one.name) == 0) options.skip_cases.insert(one.name);
  }
  testkit::check_metric<Fid>(fixture, options);
}

TEST(FrechetInceptionDistanceTest, AnySplitHasTheSameValue) {
  // Batches of rows, of products, and of both.
  for (const std::int64_t dims : {3, 40, 64, 90}) {
    const at::Tensor real = wide(200, dims).add(1e3);
    const at::Tensor generated = wide(64, dims).mul(1.5).add(1e3);
    const double expected = fid_of(real, generated);
    for (const std::int64_t size : {1, 7, 50, 99}) {
      Fid metric;
      for (const at::Tensor& rows : real.split(size)) metric.update(rows, true);
      for (const at::Tensor& rows : generated.split(size)) {
        metric.update(rows, false);
      }
      EXPECT_NEAR(metric.compute().item<double>(), expected, 1e-12 * expected)
          << dims << " " << size;
    }
  }
}

TEST(FrechetInceptionDistanceTest, TheStateDoesNotGrow) {
  internal::features::Moments moments;
  for (int i = 0; i < 50; ++i) {
    moments = internal::features::merged(
        moments, internal::features::moments_of(wide(3, 8)));
    EXPECT_LE(moments.scatter.size(0), 8);
  }
  EXPECT_EQ(moments.total, 150);
}

TEST(FrechetInceptionDistanceTest, EqualSetsAreAtDistanceZero) {
  for (const std::int64_t rows : {5, 30, 200}) {
    const at::Tensor same = wide(rows, 30);
    EXPECT_GE(fid_of(same, same), 0);
    EXPECT_LT(fid_of(same, same), 1e-11);
  }
}

TEST(FrechetInceptionDistanceTest, SingularCovariancesOfManySamples) {
  // Thirty columns of rank 4, and what these four are worth.
  const at::Tensor basis = std::get<0>(at::linalg_qr(wide(30, 4)));
  const at::Tensor real = wide(100, 4), generated = wide(90, 4).mul(2).add(1);
  const double expected = fid_of(real, generated);
  EXPECT_NEAR(fid_of(real.matmul(basis.t()), generated.matmul(basis.t())),
              expected, 1e-6 * expected);
}

TEST(FrechetInceptionDistanceTest, OneColumnIsADistanceOfTwoNormals) {
  const at::Tensor a = wide(20, 1), b = wide(30, 1).mul(3).add(2);
  const double means = a.mean().sub(b.mean()).item<double>();
  const double widths = a.std().sub(b.std()).item<double>();
  EXPECT_NEAR(fid_of(a, b), means * means + widths * widths, 1e-12);
}

TEST(FrechetInceptionDistanceTest, TheGradientIsThatOfTheRoots) {
  // Few and many rows of either set, and equal eigenvalues.
  for (const auto& [rows, others] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{
           {5, 5}, {5, 40}, {40, 5}, {40, 40}}) {
    const at::Tensor real = wide(others, 8);
    at::Tensor features = wide(rows, 8).set_requires_grad(true);
    Fid metric;
    const at::Tensor flags =
        at::cat({at::ones({others}, at::kLong), at::zeros({rows}, at::kLong)});
    metric.forward(at::cat({real, features}), flags).backward();
    const at::Tensor step = wide(rows, 8).mul(1e-5);
    const at::Tensor here = features.detach();
    const double difference =
        (fid_of(real, here.add(step)) - fid_of(real, here.sub(step))) / 2;
    EXPECT_NEAR(features.grad().mul(step).sum().item<double>(), difference,
                1e-6 * std::abs(difference) + 1e-12)
        << rows << " " << others;
  }
  at::Tensor even =
      at::cat({at::eye(4, at::kDouble), -at::eye(4, at::kDouble)});
  even.set_requires_grad(true);
  Fid metric;
  metric
      .forward(at::cat({even, even.detach().mul(2)}),
               at::cat({at::zeros({8}, at::kLong), at::ones({8}, at::kLong)}))
      .backward();
  // Each axis adds (s - 2)^2 2 / 7, s being its width, 1 here.
  EXPECT_NEAR(even.grad()[0][0].item<double>(), -2.0 / 7, 1e-12);
}

TEST(FrechetInceptionDistanceTest, StatisticsOfRealSamplesAreKept) {
  const at::Tensor real = wide(50, 6), generated = wide(40, 6);
  Fid known;
  known.update(real, true);
  Fid metric;
  for (int epoch = 0; epoch < 2; ++epoch) {
    metric.reset();
    metric.merge_state(known);
    metric.update(generated, false);
    EXPECT_NEAR(metric.compute().item<double>(), fid_of(real, generated),
                1e-12);
  }
}

TEST(FrechetInceptionDistanceTest, NaNWithoutTwoSamplesOfEach) {
  Fid metric;
  EXPECT_TRUE(std::isnan(metric.compute().item<double>()));
  metric.update(wide(1, 3), true);
  metric.update(wide(9, 3), false);
  EXPECT_TRUE(std::isnan(metric.compute().item<double>()));
  EXPECT_TRUE(std::isnan(fid_of(
      wide(9, 3), at::full({4, 3}, std::numeric_limits<double>::infinity()))));
}

TEST(FrechetInceptionDistanceTest, NaNFollowsThePolicy) {
  const at::Tensor real = wide(9, 3), generated = wide(9, 3);
  at::Tensor broken = generated.clone();
  broken[4][1] = kNaN;
  EXPECT_TRUE(std::isnan(fid_of(real, broken)));
  Fid ignores({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignores.update(real, true);
  ignores.update(broken, false);
  EXPECT_NEAR(ignores.compute().item<double>(),
              fid_of(real, at::cat({generated.narrow(0, 0, 4),
                                    generated.narrow(0, 5, 4)})),
              1e-12);
  Fid refuses({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(broken, false); }),
              HasSubstr("expected features without NaN, got some in row 4"));
  EXPECT_EQ(refuses.update_count(), 0);
}

TEST(FrechetInceptionDistanceTest, BadInputsAreRefused) {
  Fid metric;
  EXPECT_THAT(refusal_of([&] { metric.update(wide(4, 3), 2); }),
              HasSubstr("expected real to be 1 (real) or 0 (generated), got 2 "
                        "(FrechetInceptionDistance)"));
  EXPECT_THAT(refusal_of([&] { metric.update(wide(4, 3)[0], true); }),
              HasSubstr("expected features of shape [N, D]"));
  EXPECT_THAT(
      refusal_of([&] { metric.update(wide(4, 3), at::ones({3}, at::kLong)); }),
      HasSubstr("expected real of shape [4], one for each row of "
                "features, got [3]"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(wide(4, 3), at::ones({4})); }),
              HasSubstr("real"));
  metric.update(wide(4, 3), true);
  for (const bool real : {true, false}) {
    EXPECT_THAT(refusal_of([&] { metric.update(wide(4, 5), real); }),
                HasSubstr("expected features of one number of columns"));
  }
  EXPECT_EQ(metric.update_count(), 1);
}

}  // namespace
}  // namespace tally
