#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tally/metrics/clustering/clustering.h"
#include "tally/metrics/collection.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class M>
double value(const at::Tensor& data, const at::Tensor& labels,
             const typename M::Options& options = {}) {
  const M metric(options);
  return metric.evaluate(metric.observe(data, labels)).template item<double>();
}

at::Tensor column(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
}
at::Tensor labels(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

TEST(CalinskiHarabaszScoreTest, LosesNothingFarFromZero) {
  // Exact in float64 at both places.
  const at::Tensor data = at::randn({300, 3}).mul(64).round().to(at::kDouble);
  const at::Tensor own = at::arange(300).remainder(4);
  const at::Tensor moved = data.add(own.unsqueeze(1).mul(500));
  const double expected = value<CalinskiHarabaszScore>(moved, own);
  EXPECT_NEAR(value<CalinskiHarabaszScore>(moved.add(1e8), own), expected,
              1e-8 * expected);
  // Also over many batches, whose moments are merged.
  CalinskiHarabaszScore score;
  for (std::int64_t i = 0; i < 300; ++i) {
    score.update(moved.narrow(0, i, 1).add(1e8), own.narrow(0, i, 1));
  }
  EXPECT_NEAR(score.compute().item<double>(), expected, 1e-8 * expected);
}

TEST(CalinskiHarabaszScoreTest, IsOneWithoutScatter) {
  // The mean of three times 0.1 is not 0.1, computed as a sum.
  const at::Tensor data = column({0.1, 0.1, 0.1, 0.7, 0.7, 0.7, 0.7});
  const at::Tensor own = labels({3, 3, 3, 5, 5, 5, 5});
  EXPECT_EQ(value<CalinskiHarabaszScore>(data, own), 1);
  CalinskiHarabaszScore score;
  for (std::int64_t i = 0; i < 7; ++i) {
    score.update(data.narrow(0, i, 1), own.narrow(0, i, 1));
  }
  EXPECT_EQ(score.compute().item<double>(), 1);
}

TEST(CalinskiHarabaszScoreTest, KeepsMomentsOfClustersAlone) {
  CalinskiHarabaszScore score;
  CalinskiHarabaszScore at_once;
  const at::Tensor data = at::randn({6400, 2}).to(at::kDouble);
  const at::Tensor own = at::randint(-2, 3, {6400}, at::kLong);
  at_once.update(data, own);
  for (std::int64_t i = 0; i < 100; ++i) {
    score.update(data.narrow(0, 64 * i, 64), own.narrow(0, 64 * i, 64));
  }
  EXPECT_LT(score.state()["means"].size(0), 300);
  const double expected = at_once.compute().item<double>();
  EXPECT_NEAR(score.compute().item<double>(), expected, 1e-12 * expected);
}

TEST(CalinskiHarabaszScoreTest, RefusesMomentsThatDoNotFit) {
  ClusterMoments::State state;
  state.labels = Rows(labels({0, 1}));
  state.counts = Rows(labels({2, 2}));
  EXPECT_THAT(refusal_of([&] { CalinskiHarabaszScore().evaluate(state); }),
              HasSubstr("got some of them"));
  state.means = Rows(at::zeros({2, 1}, at::kDouble));
  state.squares = Rows(at::zeros({3}, at::kDouble));
  EXPECT_THAT(refusal_of([&] { CalinskiHarabaszScore().evaluate(state); }),
              HasSubstr("squares [3]"));
  state.squares = Rows(at::zeros({2}, at::kDouble));
  state.counts = Rows(labels({2, -2}));
  EXPECT_THAT(refusal_of([&] { CalinskiHarabaszScore().evaluate(state); }),
              HasSubstr("expected counts of at least 1"));
}

TEST(DunnIndexTest, HasBothDefinitions) {
  const at::Tensor data = column({0, 1, 4, 6});
  const at::Tensor own = labels({0, 0, 1, 1});
  const auto classical = DunnIndexOptions().method(DunnMethod::kClassical);
  EXPECT_DOUBLE_EQ(value<DunnIndex>(data, own), 4.5);
  EXPECT_DOUBLE_EQ(value<DunnIndex>(data, own, classical), 1.5);
  EXPECT_EQ(DunnIndex().state_key(), DunnIndex(classical).state_key());
}

TEST(DunnIndexTest, TakesAnyNorm) {
  const at::Tensor data =
      at::tensor({0.0, 0.0, 3.0, 4.0, 10.0, 20.0, 13.0, 24.0}, at::kDouble)
          .view({4, 2});
  const at::Tensor own = labels({0, 0, 1, 1});
  // Centroids are (10, 20) apart, their points (1.5, 2) from them.
  const auto index = [&](double p) { return value<DunnIndex>(data, own, p); };
  EXPECT_DOUBLE_EQ(index(1), 30 / 3.5);
  EXPECT_DOUBLE_EQ(index(2), std::sqrt(500) / 2.5);
  EXPECT_NEAR(index(3), std::cbrt(9000) / std::cbrt(1.5 * 1.5 * 1.5 + 8),
              1e-12);
  EXPECT_DOUBLE_EQ(index(kInfinity), 20 / 2.0);
  const auto classical = [&](double p) {
    return value<DunnIndex>(data, own,
                            DunnIndexOptions(p).method(DunnMethod::kClassical));
  };
  EXPECT_DOUBLE_EQ(classical(1), 23 / 7.0);
  EXPECT_DOUBLE_EQ(classical(kInfinity), 16 / 4.0);
  EXPECT_EQ(refusal_of([] { DunnIndex none(0.5); }),
            "DunnIndex: expected p of at least 1, got 0.5");
  EXPECT_THROW(DunnIndex none(kNaN), c10::ValueError);
}

TEST(DunnIndexTest, HasGradientsOfBothDefinitions) {
  const at::Tensor own = labels({0, 0, 1, 1});
  for (const auto method : {DunnMethod::kCentroid, DunnMethod::kClassical}) {
    const at::Tensor data = column({0, 1, 4, 6}).requires_grad_();
    DunnIndex index(DunnIndexOptions().method(method));
    const at::Tensor result = index.forward(data, own);
    result.backward();
    // 4.5 / 1: d/dx of |5 - 0.5| / |6 - 5|; 3 / 2: of |4 - 1| / |6 - 4|.
    const at::Tensor expected =
        method == DunnMethod::kCentroid
            ? column({-0.5, -0.5, 0.5 + 4.5 / 2, 0.5 - 4.5 / 2})
            : column({0, -0.5, 0.5 + 0.75, -0.75});
    EXPECT_TRUE(data.grad().allclose(expected)) << data.grad();
  }
}

TEST(SilhouetteScoreTest, OfLonePointsIsZero) {
  const at::Tensor data = column({0, 1, 10});
  // a = 1 of both; b = 10 and 9.
  const double expected = (9.0 / 10 + 8.0 / 9 + 0) / 3;
  EXPECT_NEAR(value<SilhouetteScore>(data, labels({4, 4, 7})), expected, 1e-15);
  // All distances are 0.
  EXPECT_EQ(value<SilhouetteScore>(column({2, 2, 2, 2}), labels({0, 0, 1, 1})),
            0);
}

TEST(SilhouetteScoreTest, SquaredDistancesNeedNoPairs) {
  const at::Tensor data = at::randn({200, 3}).to(at::kDouble).add(1e6);
  const at::Tensor own = at::arange(200).square().remainder(7);
  // All pairs of squared distances, as differences.
  const at::Tensor squared =
      data.unsqueeze(1).sub(data.unsqueeze(0)).square().sum(2);
  double expected = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    double a = 0, b = kInfinity;
    for (std::int64_t k = 0; k < 7; ++k) {
      const at::Tensor inside = own.eq(k);
      const auto size = inside.sum().item<std::int64_t>();
      if (size == 0) continue;
      const double sum =
          squared.select(0, i).masked_select(inside).sum().item<double>();
      if (own[i].item<std::int64_t>() == k) {
        a = sum / static_cast<double>(size - 1);
      } else {
        b = std::min(b, sum / static_cast<double>(size));
      }
    }
    expected += (b - a) / std::max(a, b) / 200;
  }
  EXPECT_NEAR(
      value<SilhouetteScore>(data, own, SilhouetteDistance::kSquaredEuclidean),
      expected, 1e-9);
}

TEST(PointScoresTest, NeedFromTwoClustersToOneLessThanPoints) {
  const at::Tensor data = at::rand({5, 2});
  for (const at::Tensor& own : {labels({3, 3, 3, 3, 3}), at::arange(5)}) {
    EXPECT_TRUE(std::isnan(value<CalinskiHarabaszScore>(data, own)));
    EXPECT_TRUE(std::isnan(value<DaviesBouldinScore>(data, own)));
    EXPECT_TRUE(std::isnan(value<SilhouetteScore>(data, own)));
  }
  EXPECT_TRUE(std::isnan(value<DunnIndex>(data, labels({3, 3, 3, 3, 3}))));
  EXPECT_EQ(value<DunnIndex>(data, at::arange(5)), kInfinity);
  EXPECT_TRUE(std::isnan(CalinskiHarabaszScore().compute().item<double>()));
  EXPECT_TRUE(std::isnan(DaviesBouldinScore().compute().item<double>()));
  EXPECT_TRUE(std::isnan(DunnIndex().compute().item<double>()));
  EXPECT_TRUE(std::isnan(SilhouetteScore().compute().item<double>()));
}

template <class M>
void check_nan_policy(const typename M::Options& options = {}) {
  const at::Tensor data = column({0, 1, 4, 6, 9, 10});
  const at::Tensor own = labels({0, 0, 1, 1, 2, 2});
  at::Tensor spoiled = data.clone();
  spoiled[1][0] = kNaN;
  EXPECT_TRUE(std::isnan(value<M>(spoiled, own, options)));
  at::Tensor infinite = data.clone();
  infinite[1][0] = kInfinity;
  EXPECT_TRUE(std::isnan(value<M>(infinite, own, options)));
  M ignoring(options, MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(spoiled, own);
  const at::Tensor kept = labels({0, 2, 3, 4, 5});
  EXPECT_EQ(
      ignoring.compute().template item<double>(),
      value<M>(data.index_select(0, kept), own.index_select(0, kept), options));
  M refusing(options, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refusing.update(spoiled, own); }),
              HasSubstr("expected data without NaN, got some"));
  EXPECT_EQ(refusing.update_count(), 0);
  refusing.update(data, own);
}

TEST(PointScoresTest, NanGoesByThePolicy) {
  check_nan_policy<CalinskiHarabaszScore>();
  check_nan_policy<DaviesBouldinScore>();
  check_nan_policy<DaviesBouldinScore>(DaviesBouldinScoreOptions().q(2));
  check_nan_policy<DaviesBouldinScore>(
      DaviesBouldinScoreOptions().centroids(std::vector<double>{0, 5, 9}));
  check_nan_policy<DunnIndex>();
  check_nan_policy<DunnIndex>(
      DunnIndexOptions().method(DunnMethod::kClassical));
  check_nan_policy<SilhouetteScore>();
  check_nan_policy<SilhouetteScore>(SilhouetteDistance::kSquaredEuclidean);
}

template <class M>
void check_refusals() {
  M metric;
  const at::Tensor own = at::zeros({4}, at::kLong);
  const auto refusal = [&](const at::Tensor& data, const at::Tensor& given) {
    return refusal_of([&] { metric.update(data, given); });
  };
  const std::string name = std::string(" (") + M::kName + ")";
  EXPECT_EQ(refusal(at::ones({4}), own),
            "expected data of shape [N, D], D at least 1, got [4]" + name);
  EXPECT_EQ(refusal(at::ones({4, 0}), own),
            "expected data of shape [N, D], D at least 1, got [4, 0]" + name);
  EXPECT_EQ(refusal(at::ones({3, 2}), own),
            "expected labels of shape [3], one for each row of data, got [4]; "
            "these are 3 rows and 4" +
                name);
  EXPECT_EQ(refusal(at::ones({4, 2}), own.unsqueeze(1)),
            "expected labels of shape [4], one for each row of data, got [4, "
            "1]; did you mean labels.squeeze(1)?" +
                name);
  EXPECT_EQ(refusal_of<c10::TypeError>([&] {
              metric.update(at::ones({4, 2}), at::ones({4}));
            }),
            "expected labels of an integer dtype, got Float; for whole "
            "numbers pass labels.to(at::kLong)" +
                name);
  EXPECT_EQ(refusal_of<c10::TypeError>([&] {
              metric.update(at::ones({4, 2}, at::kComplexFloat), own);
            }),
            "expected data of a real dtype, got ComplexFloat" + name);
  EXPECT_EQ(metric.update_count(), 0);
  metric.update(at::ones({4, 2}), own);
  EXPECT_THROW(metric.update(at::ones({4, 3}), own), c10::ValueError);
  EXPECT_EQ(metric.update_count(), 1);
}

TEST(PointScoresTest, RefuseInputsThatDoNotFit) {
  check_refusals<CalinskiHarabaszScore>();
  check_refusals<DaviesBouldinScore>();
  check_refusals<DunnIndex>();
  check_refusals<SilhouetteScore>();
}

TEST(PointScoresTest, ShareThePointsInACollection) {
  MetricCollection metrics;
  metrics.add("dunn", DunnIndex(3.0));
  metrics.add("silhouette", SilhouetteScore());
  metrics.add("davies_bouldin", DaviesBouldinScore());
  const at::Tensor data = at::randn({30, 2});
  const at::Tensor own = at::arange(30).remainder(3);
  metrics.update(data, own);
  const Results results = metrics.compute();
  EXPECT_EQ(DunnIndex(3.0).state_key(), SilhouetteScore().state_key());
  EXPECT_EQ(DaviesBouldinScore().source_key(), SilhouetteScore().state_key());
  EXPECT_EQ(results["davies_bouldin"].item<double>(),
            value<DaviesBouldinScore>(data, own));
}

}  // namespace
}  // namespace tally
