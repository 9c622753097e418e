#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/common/hash.h"
#include "tally/metrics/features/features.h"
#include "tally/metrics/features/kernels/kernel_sums.h"
#include "tally/metrics/features/kernels/neighborhoods.h"
#include "tally/testing/metric_laws.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sum_order.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

using Fid = FrechetInceptionDistance;
using Kid = KernelInceptionDistance;
using MiFid = MemorizationInformedFrechetInceptionDistance;
using PrecisionRecall = ImprovedPrecisionRecall;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor wide(std::int64_t rows, std::int64_t dims) {
  return at::randn({rows, dims}, at::kDouble);
}

template <class Metric>
auto value_of(Metric&& metric, const at::Tensor& real,
              const at::Tensor& generated) {
  metric.update(real, true);
  metric.update(generated, false);
  return metric.compute();
}

TEST(FeatureSamplesTest, MetricsPassTheHarness) {
  testkit::HarnessOptions options;
  testkit::check_metric<InceptionScore>("features/InceptionScore", options);
  // The law's many samples have too many pairs for a test; see below.
  options.checks_threads = false;
  testkit::check_metric<Kid>("features/KernelInceptionDistance", options);
  options.split_rtol = 1e-11;
  testkit::check_metric<MiFid>(
      "features/MemorizationInformedFrechetInceptionDistance", options);
}

TEST(FeatureSamplesTest, NeighborhoodsPassTheHarnessExactly) {
  testkit::HarnessOptions options;
  options.split_rtol = 0;
  options.checks_threads = false;  // as above
  testkit::check_metric<PrecisionRecall>("features/ImprovedPrecisionRecall",
                                         options);
  testkit::check_metric<DensityCoverage>("features/DensityCoverage", options);
}

template <class Metric>
void check_threads() {
  // Few samples of many dimensions, on which threads are worth it.
  const std::int64_t rows = 300;
  testkit::check_metric_law<Metric>(
      testkit::MetricLaw::kThreads,
      {at::randn({rows, 500}), at::arange(rows).remainder(2)},
      testkit::MetricLawOptions().check_threads(true));
}

void check_threads_of_all() {
  check_threads<Kid>();
  check_threads<PrecisionRecall>();
  check_threads<DensityCoverage>();
}

TEST(FeatureSamplesTest, TheNumberOfThreadsDecidesNothing) {
  check_threads_of_all();
}

TEST(FeatureSamplesTest, TheNumberOfThreadsDecidesNothingInAnotherOrder) {
  const testkit::SumOrder order(1);
  check_threads_of_all();
}

TEST(FeatureSamplesTest, ACollectionKeepsFeaturesOnce) {
  MetricCollection metrics;
  metrics.add("kid", Kid());
  metrics.add("mifid", MiFid());
  metrics.add("precision_recall", PrecisionRecall());
  metrics.add("density_coverage", DensityCoverage());
  EXPECT_EQ(metrics.groups().size(), 1u);
}

// By definition.
double discrepancy(const at::Tensor& x, const at::Tensor& y) {
  const auto kernel = [](const at::Tensor& a, const at::Tensor& b) {
    return a.matmul(b.t()).div(a.size(1)).add(1).pow(3);
  };
  const auto among = [&](const at::Tensor& a) {
    const at::Tensor k = kernel(a, a);
    const auto n = static_cast<double>(a.size(0));
    return k.sum().sub(k.diagonal().sum()).div(n * (n - 1));
  };
  return among(x).add(among(y)).sub(kernel(x, y).mean(), 2).item<double>();
}

TEST(KernelInceptionDistanceTest, TilesAreAllPairs) {
  const at::Tensor x = wide(700, 5), y = wide(300, 5).add(0.5);
  EXPECT_NEAR(internal::features::squared_discrepancy(x, y, {3, 0.2, 1}),
              discrepancy(x, y), 1e-11);
}

TEST(KernelInceptionDistanceTest, SubsetsAreThoseOfSeedAndIds) {
  const std::int64_t rows = 60, size = 20;
  const at::Tensor real = wide(rows, 4), generated = wide(rows, 4).add(1);
  const at::Tensor ids = at::randperm(1000, at::kLong).narrow(0, 0, rows);
  const auto options =
      KernelInceptionDistanceOptions().subsets(7).subset_size(size).seed(3);
  Kid metric(options);
  metric.update(real, true, ids);
  metric.update(generated, false, ids);
  const SplitStatistics value = metric.compute();
  std::vector<double> expected;
  std::set<std::vector<std::int64_t>> subsets;
  for (std::uint64_t subset = 0; subset < 7; ++subset) {
    const std::uint64_t key = internal::mixed(3) + 2 * subset;
    const at::Tensor a = internal::features::subset_of(ids, key, size);
    const at::Tensor b = internal::features::subset_of(ids, key + 1, size);
    EXPECT_FALSE(a.equal(b));
    subsets.insert({a.const_data_ptr<std::int64_t>(),
                    a.const_data_ptr<std::int64_t>() + size});
    expected.push_back(
        discrepancy(real.index_select(0, a), generated.index_select(0, b)));
  }
  EXPECT_EQ(subsets.size(), 7u);
  const at::Tensor values = at::tensor(expected, at::kDouble);
  EXPECT_NEAR(value.mean.item<double>(), values.mean().item<double>(), 1e-12);
  EXPECT_NEAR(value.std.item<double>(),
              values.std(/*unbiased=*/false).item<double>(), 1e-12);
  // In any order.
  const at::Tensor order = at::randperm(rows, at::kLong);
  Kid shuffled(options);
  shuffled.update(generated.index_select(0, order), false,
                  ids.index_select(0, order));
  shuffled.update(real.index_select(0, order), true,
                  ids.index_select(0, order));
  EXPECT_TRUE(shuffled.compute().mean.equal(value.mean));
  Kid other(KernelInceptionDistanceOptions(options).seed(4));
  other.update(real, true, ids);
  other.update(generated, false, ids);
  EXPECT_FALSE(other.compute().mean.equal(value.mean));
}

TEST(KernelInceptionDistanceTest, HashesStandForIds) {
  const at::Tensor real = wide(50, 4), generated = wide(40, 4);
  const auto options =
      KernelInceptionDistanceOptions().subsets(3).subset_size(10);
  const double value =
      value_of(Kid(options), real, generated).mean.item<double>();
  const at::Tensor order = at::randperm(50, at::kLong);
  EXPECT_EQ(value_of(Kid(options), real.index_select(0, order), generated)
                .mean.item<double>(),
            value);
  EXPECT_TRUE(internal::features::hashes_of(
                  at::tensor({-0.0, 1.0}, at::kDouble).unsqueeze(0))
                  .equal(internal::features::hashes_of(
                      at::tensor({0.0, 1.0}, at::kFloat).unsqueeze(0))));
}

TEST(KernelInceptionDistanceTest, WithoutTwoSamplesOfEachItIsNaN) {
  EXPECT_TRUE(std::isnan(Kid().compute().mean.item<double>()));
  const SplitStatistics value = value_of(Kid(), wide(5, 2), wide(1, 2));
  EXPECT_TRUE(std::isnan(value.mean.item<double>()));
  EXPECT_TRUE(std::isnan(value.std.item<double>()));
}

TEST(KernelInceptionDistanceTest, BadOptionsAndInputsAreRefused) {
  using Options = KernelInceptionDistanceOptions;
  EXPECT_THAT(refusal_of([] { Kid metric(Options().subsets(-1)); }),
              HasSubstr("'subsets': expected at least 0, got -1"));
  EXPECT_THAT(refusal_of([] { Kid metric(Options().subset_size(1)); }),
              HasSubstr("'subset_size': expected at least 2, got 1"));
  EXPECT_THAT(refusal_of([] { Kid metric(Options().degree(0)); }),
              HasSubstr("'degree'"));
  EXPECT_THAT(refusal_of([] { Kid metric(Options().gamma(kInfinity)); }),
              HasSubstr("'gamma'"));
  EXPECT_THAT(refusal_of([] { Kid metric(Options().coef(kInfinity)); }),
              HasSubstr("'coef'"));
  Kid metric;
  EXPECT_THAT(refusal_of([&] {
                metric.update(wide(4, 2), true, at::zeros({3}, at::kLong));
              }),
              HasSubstr("expected ids of shape [4], one for each row"));
  metric.update(wide(4, 2), true);
  EXPECT_THAT(refusal_of([&] { metric.update(wide(4, 3), false); }),
              HasSubstr("got Double on cpu with sizes [*, 3]"));
}

TEST(InceptionScoreTest, PartsFollowTheOrderOfIds) {
  const at::Tensor logits = wide(11, 3);
  InceptionScore ordered, shuffled;
  ordered.update(logits, at::arange(11, at::kLong));
  const at::Tensor order = at::randperm(11, at::kLong);
  shuffled.update(logits.index_select(0, order), order);
  EXPECT_TRUE(ordered.compute().mean.equal(shuffled.compute().mean));
  EXPECT_GT(ordered.compute().std.item<double>(), 0);
}

TEST(InceptionScoreTest, PartsAreThoseOfTorchFidelity) {
  // Sample i of 11 begins part k of 10 where k * 11 / 10 is i: all parts but
  // the last have one sample, whose score is 1.
  at::Tensor logits = at::full({11, 2}, -kInfinity);
  logits.select(1, 0).fill_(0);
  logits[10][0] = -kInfinity;
  logits[10][1] = 0;
  InceptionScore score;
  score.update(logits, at::arange(11, at::kLong));
  EXPECT_NEAR(score.compute().mean.item<double>(), (9 + 2) / 10.0, 1e-12);
}

TEST(InceptionScoreTest, CertainAndVariousIsTheNumberOfClasses) {
  at::Tensor logits = at::full({4, 4}, -kInfinity);
  logits.diagonal().fill_(0);
  InceptionScore score(InceptionScoreOptions().splits(1));
  score.update(logits);
  EXPECT_NEAR(score.compute().mean.item<double>(), 4, 1e-12);
  InceptionScore none;
  EXPECT_TRUE(std::isnan(none.compute().mean.item<double>()));
  EXPECT_THAT(
      refusal_of([] { InceptionScore bad(InceptionScoreOptions().splits(0)); }),
      HasSubstr("'splits': expected at least 1, got 0"));
}

TEST(MemorizationInformedTest, AFarSetAndRowsOfZerosDoNotCount) {
  const at::Tensor real = wide(9, 4), generated = wide(9, 4).add(1);
  const double fid = value_of(Fid(), real, generated).item<double>();
  const auto mifid = [&](double eps, const at::Tensor& of) {
    return value_of(MiFid(MemorizationInformedFrechetInceptionDistanceOptions()
                              .cosine_distance_eps(eps)),
                    real, of)
        .item<double>();
  };
  // Any distance is at least 1e-9.
  EXPECT_NEAR(mifid(1e-9, generated), fid, 1e-9 * fid);
  const at::Tensor zeros = at::cat({generated, at::zeros({1, 4}, at::kDouble)});
  const double near = mifid(1, generated) / fid;
  EXPECT_NEAR(mifid(1, zeros),
              near * value_of(Fid(), real, zeros).item<double>(), 1e-6);
}

TEST(MemorizationInformedTest, RoundingDoesNotBringSamplesNear) {
  // Cosines of 0.8, whose distance is 0.2, but less than that as it is rounded.
  const at::Tensor real =
      at::tensor({1.0, 0.0, 0.0, 1.0}, at::kDouble).reshape({2, 2});
  const at::Tensor generated =
      at::tensor({4.0, 3.0, 3.0, 4.0}, at::kDouble).reshape({2, 2});
  const double fid = value_of(Fid(), real, generated).item<double>();
  using Options = MemorizationInformedFrechetInceptionDistanceOptions;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const testkit::SumOrder order(seed);
    EXPECT_NEAR(
        value_of(MiFid(Options().cosine_distance_eps(0.2)), real, generated)
            .item<double>(),
        fid, 1e-9 * fid);
  }
}

TEST(MemorizationInformedTest, TheMeanIsOverGeneratedSamples) {
  // One of two generated samples is a copy; TorchMetrics asks real ones.
  const at::Tensor real =
      at::tensor({1.0, 0.0, 0.0, 1.0, 0.6, 0.8}, at::kDouble).reshape({3, 2});
  const at::Tensor generated =
      at::tensor({2.0, 0.0, 0.8, 0.6}, at::kDouble).reshape({2, 2});
  const double fid = value_of(Fid(), real, generated).item<double>();
  const auto options =
      MemorizationInformedFrechetInceptionDistanceOptions().cosine_distance_eps(
          1);
  EXPECT_NEAR(value_of(MiFid(options), real, generated).item<double>(),
              fid / 0.02, 1e-9 * fid / 0.02);
  EXPECT_NEAR(value_of(MiFid(), real, real).item<double>(), 0, 1e-2);
  EXPECT_TRUE(std::isnan(
      value_of(MiFid(), real, at::zeros({3, 2}, at::kDouble)).item<double>()));
  EXPECT_THAT(
      refusal_of([] {
        MiFid bad(MemorizationInformedFrechetInceptionDistanceOptions()
                      .cosine_distance_eps(0));
      }),
      HasSubstr("'cosine_distance_eps': expected a number in (0, 1], got 0"));
}

TEST(NeighborhoodsTest, AreThoseOfExactDistances) {
  namespace features = internal::features;
  // Small integers: products are exact, and many distances are equal. Far from
  // the origin, float32 alone would know none of them.
  for (const double offset : {0.0, 1e7}) {
    const at::Tensor x = wide(150, 3).mul(2).round().add(offset);
    const at::Tensor y = wide(130, 3).mul(2).round().add(offset);
    for (const std::int64_t k : {1, 4, 60}) {
      const features::Points real(x, at::zeros({3}, at::kDouble));
      const features::Points generated(y, at::zeros({3}, at::kDouble));
      const auto squares = [](const at::Tensor& a, const at::Tensor& b) {
        return a.unsqueeze(1).sub(b.unsqueeze(0)).square().sum(2);
      };
      // The row itself is the first.
      const at::Tensor radii =
          std::get<0>(squares(x, x).kthvalue(k + 1, /*dim=*/1));
      const std::vector<double> found = real.radii(k);
      EXPECT_TRUE(radii.equal(at::tensor(found, at::kDouble)));
      const auto near =
          features::neighborhoods(real, found, generated, generated.radii(k));
      const at::Tensor within = squares(x, y).le(radii.unsqueeze(1));
      EXPECT_TRUE(at::tensor(near.real_around, at::kLong)
                      .equal(within.sum(0, /*keepdim=*/false, at::kLong)));
      const at::Tensor generated_radii =
          std::get<0>(squares(y, y).kthvalue(k + 1, /*dim=*/1));
      const at::Tensor recalled =
          squares(x, y).le(generated_radii.unsqueeze(0)).any(1);
      for (std::int64_t i = 0; i < 150; ++i) {
        EXPECT_EQ(near.has_generated[i], within[i].any().item<bool>());
        EXPECT_EQ(near.is_near_generated[i], recalled[i].item<bool>());
      }
    }
  }
}

TEST(NeighborhoodsTest, IdenticalFeaturesArePerfect) {
  const at::Tensor same = at::full({9, 5}, 0.1);
  const auto first = value_of(PrecisionRecall(), same, same);
  EXPECT_EQ(first.precision.item<double>(), 1);
  EXPECT_EQ(first.recall.item<double>(), 1);
  const auto second = value_of(DensityCoverage(), same, same);
  EXPECT_EQ(second.coverage.item<double>(), 1);
}

TEST(NeighborhoodsTest, NaNWhereThereAreNone) {
  const auto few = value_of(PrecisionRecall(), wide(3, 2), wide(9, 2));
  EXPECT_TRUE(std::isnan(few.precision.item<double>()));
  EXPECT_FALSE(std::isnan(few.recall.item<double>()));
  EXPECT_TRUE(std::isnan(DensityCoverage().compute().density.item<double>()));
  const auto infinite = value_of(PrecisionRecall(), wide(9, 2),
                                 at::full({9, 2}, kInfinity, at::kDouble));
  EXPECT_TRUE(std::isnan(infinite.precision.item<double>()));
  EXPECT_THAT(
      refusal_of([] { DensityCoverage bad(DensityCoverageOptions().k(0)); }),
      HasSubstr("DensityCoverage: option 'k': expected at least 1"));
}

TEST(NeighborhoodsTest, HugeValuesDoNotOverflow) {
  const at::Tensor real = wide(20, 4), generated = wide(20, 4).mul(1.2);
  const auto value = value_of(PrecisionRecall(), real, generated);
  const auto huge =
      value_of(PrecisionRecall(), real.mul(0x1p70), generated.mul(0x1p70));
  EXPECT_TRUE(huge.precision.equal(value.precision));
  EXPECT_TRUE(huge.recall.equal(value.recall));
}

}  // namespace
}  // namespace tally
