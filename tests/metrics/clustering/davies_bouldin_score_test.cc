#include "tally/metrics/clustering/davies_bouldin_score.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double score(const at::Tensor& data, const at::Tensor& labels,
             const DaviesBouldinScoreOptions& options = {}) {
  const DaviesBouldinScore metric(options);
  return metric.evaluate(metric.observe(data, labels)).item<double>();
}

at::Tensor column(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
}
at::Tensor labels(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

TEST(DaviesBouldinScoreTest, TakesMeanDistancesOrTheirSquares) {
  const at::Tensor data = column({0, 0, 3, 9, 9});
  const at::Tensor own = labels({0, 0, 0, 1, 1});
  EXPECT_NEAR(score(data, own), (4.0 / 3) / 8, 1e-15);
  EXPECT_NEAR(score(data, own, DaviesBouldinScoreOptions().q(2)),
              std::sqrt(2.0) / 8, 1e-15);
}

TEST(DaviesBouldinScoreTest, KeepsSumsOnlyForSquares) {
  DaviesBouldinScore squares(DaviesBouldinScoreOptions().q(2));
  DaviesBouldinScore distances;
  const at::Tensor data = at::randn({6400, 2});
  const at::Tensor own = at::arange(6400).remainder(5);
  for (std::int64_t i = 0; i < 100; ++i) {
    squares.update(data.narrow(0, 64 * i, 64), own.narrow(0, 64 * i, 64));
    distances.update(data.narrow(0, 64 * i, 64), own.narrow(0, 64 * i, 64));
  }
  EXPECT_FALSE(squares.state()["data"].defined());
  EXPECT_LT(squares.state()["means"].size(0), 300);
  EXPECT_EQ(distances.state()["data"].size(0), 6400);
  EXPECT_NEAR(squares.compute().item<double>(),
              score(data, own, DaviesBouldinScoreOptions().q(2)), 1e-9);
}

// The matmul of torch.cdist leaves distances of a centroid to itself that are
// not 0.
TEST(DaviesBouldinScoreTest, OfManyClustersHasNoLeftovers) {
  const at::Tensor places = at::arange(60).to(at::kDouble).mul(100);
  const at::Tensor own = at::arange(240).remainder(60);
  const at::Tensor step = at::arange(240).floor_divide(60).to(at::kDouble);
  // Each cluster: 1.5 around its middle, so a mean distance of 1.
  const at::Tensor data =
      places.index_select(0, own).add(step).add(1e5).unsqueeze(1);
  EXPECT_NEAR(score(data, own), 2.0 / 100, 1e-9);
}

TEST(DaviesBouldinScoreTest, IsInfiniteWhereCentroidsMeet) {
  EXPECT_EQ(score(column({-1, 1, -2, 2}), labels({0, 0, 1, 1})), kInfinity);
  // All points are one: no cluster is wide.
  EXPECT_EQ(score(column({3, 3, 3, 3}), labels({0, 0, 1, 1})), 0);
  const at::Tensor data = column({3, 3, 3, 3}).requires_grad_();
  DaviesBouldinScore metric;
  EXPECT_EQ(metric.forward(data, labels({0, 0, 1, 1})).item<double>(), 0);
}

TEST(DaviesBouldinScoreTest, TakesKnownCentroids) {
  const at::Tensor centroids =
      at::tensor({0.0, 0.0, 10.0, 0.0, 0.0, 50.0}, at::kDouble).view({3, 2});
  const at::Tensor data =
      at::tensor({1.0, 0.0, 0.0, 3.0, 12.0, 0.0, 10.0, 4.0}, at::kFloat)
          .view({4, 2});
  const at::Tensor own = labels({0, 0, 1, 1});
  // Mean distances 2 and 3, no point of the third.
  auto options = DaviesBouldinScoreOptions();
  options.centroids_from(centroids);
  EXPECT_DOUBLE_EQ(score(data, own, options), 0.5);
  options.q(2);
  EXPECT_DOUBLE_EQ(score(data, own, options),
                   (std::sqrt(5.0) + std::sqrt(10.0)) / 10);
  DaviesBouldinScore metric(options);
  for (int i = 0; i < 3; ++i) metric.update(data, own);
  EXPECT_DOUBLE_EQ(metric.compute().item<double>(), score(data, own, options));
  EXPECT_FALSE(metric.state()["data"].defined());
  EXPECT_EQ(metric.state()["sizes"].size(0), 3);
}

TEST(DaviesBouldinScoreTest, KnownCentroidsHaveGradientsToo) {
  auto options = DaviesBouldinScoreOptions();
  options.centroids({0, 10});
  const at::Tensor data = column({1, 3, 9, 12}).requires_grad_();
  DaviesBouldinScore metric(options);
  const at::Tensor value = metric.forward(data, labels({0, 0, 1, 1}));
  EXPECT_DOUBLE_EQ(value.item<double>(), 0.35);
  value.backward();
  EXPECT_TRUE(data.grad().allclose(column({0.05, 0.05, -0.05, 0.05})))
      << data.grad();
}

TEST(DaviesBouldinScoreTest, RefusesWhatDoesNotFitKnownCentroids) {
  auto options = DaviesBouldinScoreOptions();
  options.centroids({0, 1, 2, 3, 4, 5});
  DaviesBouldinScore metric(options);
  EXPECT_EQ(refusal_of([&] {
              metric.update(at::ones({2, 4}), labels({0, 0}));
            }),
            "expected data of shape [N, D], D a divisor of the 6 coordinates "
            "of the centroids, got [2, 4] (DaviesBouldinScore)");
  EXPECT_EQ(refusal_of([&] {
              metric.update(at::ones({2, 2}), labels({0, 3}));
            }),
            "expected labels from 0 to 2 in labels, got 3 at position 1 "
            "(DaviesBouldinScore)");
  EXPECT_EQ(metric.update_count(), 0);
  metric.update(at::ones({2, 2}), labels({0, 2}));
  EXPECT_THROW(metric.update(at::ones({2, 3}), labels({0, 1})),
               c10::ValueError);
}

TEST(DaviesBouldinScoreTest, RefusesOptions) {
  EXPECT_EQ(refusal_of([] {
              DaviesBouldinScore metric(DaviesBouldinScoreOptions().q(3));
            }),
            "DaviesBouldinScore: expected q of 1 or 2, got 3");
  EXPECT_EQ(refusal_of([] {
              DaviesBouldinScore metric(
                  DaviesBouldinScoreOptions().centroids({1, kInfinity}));
            }),
            "DaviesBouldinScore: expected finite centroids, got inf");
  EXPECT_THAT(refusal_of([] {
                DaviesBouldinScoreOptions().centroids_from(at::ones({3}));
              }),
              HasSubstr("expected centroids of shape [K, D], got [3]"));
}

}  // namespace
}  // namespace tally
