#include "tally/metrics/shape/procrustes_disparity.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/shape/kernels/singular_values.h"
#include "tally/testing/metric_laws.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sum_order.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value_of(const at::Tensor& a, const at::Tensor& b,
                const ProcrustesDisparityOptions& options = {}) {
  ProcrustesDisparity metric(options);
  return metric.forward(a, b).item<double>();
}

TEST(ProcrustesDisparityTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_metric<ProcrustesDisparity>("ProcrustesDisparity", options);
}

TEST(ProcrustesDisparityTest, ThreadsRoundInManyDimensions) {
  const auto check = [] {
    testkit::check_metric_law<ProcrustesDisparity>(
        testkit::MetricLaw::kThreads,
        {at::randn({3, 80, 70}), at::randn({3, 80, 70})},
        testkit::MetricLawOptions().check_threads(true).threads_rtol(1e-12));
  };
  check();
  const testkit::SumOrder order(1);
  check();
}

TEST(ProcrustesDisparityTest, AMirrorImageMatchesUnlessReflectionIsFalse) {
  const at::Tensor points = at::randn({2, 7, 3}, at::kDouble);
  const at::Tensor mirrored =
      points.mul(at::tensor({1.0, -1.0, 1.0}, at::kDouble)).mul(3).add(5);
  EXPECT_NEAR(value_of(points, mirrored), 0, 1e-14);
  const auto turned = ProcrustesDisparityOptions().reflection(false);
  EXPECT_GT(value_of(points, mirrored, turned), 1e-3);
  const at::Tensor rotated =
      points.index_select(2, at::tensor({1, 2, 0}, at::kLong));  // a rotation
  EXPECT_NEAR(value_of(points, rotated, turned), 0, 1e-14);
}

TEST(ProcrustesDisparityTest, EqualPointsAreRefused) {
  const at::Tensor points = at::randn({3, 4, 2});
  at::Tensor equal = points.clone();
  equal[1] = 0.1;
  ProcrustesDisparity metric;
  EXPECT_THAT(refusal_of([&] { metric.update(points, equal); }),
              HasSubstr("expected points that differ in point_cloud2, got "
                        "equal ones in sample 1 (ProcrustesDisparity)"));
  EXPECT_THAT(refusal_of([&] { metric.update(equal, points); }),
              HasSubstr("in point_cloud1"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(ProcrustesDisparityTest, SameWithAndWithoutAGraph) {
  for (const std::int64_t dims : {1, 2, 3, 70}) {
    const at::Tensor a = at::randn({5, 6, dims}, at::kDouble);
    const at::Tensor b = at::randn({5, 6, dims}, at::kDouble);
    for (const bool reflection : {true, false}) {
      ProcrustesDisparity metric(
          ProcrustesDisparityOptions().reflection(reflection));
      const at::Tensor plain = metric.forward(a, b);
      const at::Tensor recorded =
          metric.forward(a.clone().set_requires_grad(true), b);
      EXPECT_TRUE(recorded.requires_grad());
      EXPECT_NEAR(plain.item<double>(), recorded.item<double>(), 1e-12);
    }
  }
}

TEST(ProcrustesDisparityTest, EqualSingularValuesHaveAGradient) {
  // A square on itself: both singular values are 1/2.
  const at::Tensor square =
      at::tensor({0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0}, at::kDouble)
          .reshape({1, 4, 2});
  const at::Tensor moved =
      square.clone().add(square.square()).set_requires_grad(true);
  ProcrustesDisparity metric;
  metric.forward(moved, square).backward();
  EXPECT_TRUE(moved.grad().isfinite().all().item<bool>()) << moved.grad();
}

TEST(ProcrustesDisparityTest, NaNFollowsThePolicy) {
  const at::Tensor a = at::randn({3, 4, 2});
  at::Tensor b = at::randn({3, 4, 2});
  const double expected = value_of(a.narrow(0, 0, 2), b.narrow(0, 0, 2));
  b[2][1][0] = kNaN;
  EXPECT_TRUE(std::isnan(value_of(a, b)));
  ProcrustesDisparity with_graph;
  EXPECT_TRUE(std::isnan(
      with_graph.forward(a.clone().set_requires_grad(true), b).item<double>()));
  ProcrustesDisparity ignores({},
                              MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_EQ(ignores.forward(a, b).item<double>(), expected);
  ProcrustesDisparity refuses({},
                              MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(a, b); }),
              HasSubstr("expected points without NaN, got some in sample 2"));
  EXPECT_EQ(refuses.update_count(), 0);
}

TEST(ProcrustesDisparityTest, BadInputsAreRefused) {
  ProcrustesDisparity metric;
  const at::Tensor points = at::randn({3, 4, 2});
  EXPECT_THAT(
      refusal_of([&] { metric.update(points, points.narrow(1, 0, 3)); }),
      HasSubstr("of the same shape, got [3, 4, 2] and [3, 3, 2]"));
  EXPECT_THAT(refusal_of([&] { metric.update(points[0], points[0]); }),
              HasSubstr("expected points of shape [N, M, D]"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(points.to(at::kComplexFloat), points); }),
              HasSubstr("point_cloud1"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(ProcrustesDisparityTest, WithoutUpdates) {
  ProcrustesDisparity mean;
  EXPECT_TRUE(std::isnan(mean.compute().item<double>()));
  mean.update(at::zeros({0, 4, 2}), at::zeros({0, 4, 2}));
  EXPECT_TRUE(std::isnan(mean.compute().item<double>()));
  ProcrustesDisparity sum(
      ProcrustesDisparityOptions().reduction(DisparityReduction::kSum));
  EXPECT_EQ(sum.compute().item<double>(), 0);
}

TEST(SingularValuesTest, AreThoseOfTheMatrix) {
  auto values = internal::shape::singular_values({3, 0, 4, 5}, 2);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(values[0], std::sqrt(5), 1e-15);
  EXPECT_NEAR(values[1], std::sqrt(45), 1e-14);
  values = internal::shape::singular_values({1, 2, 2, 4}, 2);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(values[0], 0, 1e-15);
  EXPECT_NEAR(values[1], 5, 1e-14);
  EXPECT_TRUE(std::isnan(internal::shape::singular_values({kNaN}, 1)[0]));
}

TEST(SingularValuesTest, SignsOfDeterminants) {
  using internal::shape::has_negative_determinant;
  EXPECT_FALSE(has_negative_determinant({1, 0, 0, 1}, 2));
  EXPECT_TRUE(has_negative_determinant({0, 1, 1, 0}, 2));
  EXPECT_TRUE(has_negative_determinant({-2}, 1));
  EXPECT_FALSE(has_negative_determinant({1, 2, 2, 4}, 2));
  EXPECT_FALSE(has_negative_determinant({0, 1, 0, 0, 0, 1, 1, 0, 0}, 3));
}

}  // namespace
}  // namespace tally
