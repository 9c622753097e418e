#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/regression/kendall_rank_corr_coef.h"
#include "tally/metrics/regression/kernels/pair_ranks.h"
#include "tally/metrics/regression/kernels/value_counts.h"
#include "tally/metrics/regression/spearman_corr_coef.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace regression = internal::regression;
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double spearman(const at::Tensor& preds, const at::Tensor& target) {
  SpearmanCorrCoef metric;
  metric.update(preds, target);
  return metric.compute().item<double>();
}

double kendall(const at::Tensor& preds, const at::Tensor& target,
               KendallVariant variant = KendallVariant::kB) {
  KendallRankCorrCoef metric(KendallRankCorrCoefOptions().variant(variant));
  metric.update(preds, target);
  return metric.compute().tau.item<double>();
}

// Whole numbers below `levels`, in no order.
at::Tensor scattered(std::int64_t count, std::int64_t factor,
                     std::int64_t levels) {
  return at::arange(count)
      .mul(factor)
      .add(factor / 3)
      .remainder(1'000'003)
      .remainder(levels);
}

// Over all pairs.
struct Reference {
  double difference = 0, tied_x = 0, tied_y = 0;
};
Reference all_pairs(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor x = preds.to(at::kDouble).contiguous();
  const at::Tensor y = target.to(at::kDouble).contiguous();
  const double* const p = x.const_data_ptr<double>();
  const double* const t = y.const_data_ptr<double>();
  Reference result;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    for (std::int64_t k = 0; k < i; ++k) {
      const int a = (p[i] > p[k]) - (p[i] < p[k]);
      const int b = (t[i] > t[k]) - (t[i] < t[k]);
      result.difference += a * b;
      result.tied_x += a == 0;
      result.tied_y += b == 0;
    }
  }
  return result;
}

TEST(RanksTest, SpearmanPassesTheHarness) {
  testkit::check_metric<SpearmanCorrCoef>("SpearmanCorrCoef");
}

TEST(RanksTest, KendallPassesTheHarness) {
  testkit::check_metric<KendallRankCorrCoef>("KendallRankCorrCoef");
}

// Sums of squared ranks go beyond int32, and beyond 2^53.
TEST(RanksTest, SpearmanOfManyTies) {
  for (const std::int64_t count : {200'000, 1'000'000}) {
    const at::Tensor levels = at::arange(count).remainder(5);
    EXPECT_NEAR(spearman(levels, levels.to(at::kFloat)), 1, 1e-12);
    EXPECT_NEAR(spearman(levels, levels.neg()), -1, 1e-12);
    // Independent: every pair of levels is equally frequent.
    const at::Tensor other =
        at::arange(count).floor_divide(5).remainder(5).to(at::kFloat);
    EXPECT_NEAR(spearman(levels.to(at::kFloat), other), 0, 1e-12);
  }
}

TEST(RanksTest, SpearmanIsPearsonOfRanks) {
  const at::Tensor x = scattered(5000, 7919, 900);
  const at::Tensor y = x.add(scattered(5000, 104'729, 500));
  const auto ranks = [](const at::Tensor& values) {
    const at::Tensor sorted = std::get<0>(values.sort());
    return at::searchsorted(sorted, values)
        .add(at::searchsorted(sorted, values, /*out_int32=*/false,
                              /*right=*/true))
        .to(at::kDouble);
  };
  const auto centered = [](const at::Tensor& values) {
    return values.sub(values.mean());
  };
  const at::Tensor a = centered(ranks(x));
  const at::Tensor b = centered(ranks(y));
  const double expected = a.mul(b).sum().item<double>() /
                          std::sqrt(a.square().sum().item<double>() *
                                    b.square().sum().item<double>());
  EXPECT_NEAR(spearman(x, y), expected, 1e-13);
  EXPECT_NEAR(spearman(x.to(at::kFloat), y.to(at::kFloat)), expected, 1e-13);
  EXPECT_NEAR(spearman(x.to(at::kFloat), y), expected, 1e-13);
}

// Below, at and beyond what is sorted by comparing; few values and many.
TEST(RanksTest, KendallCountsAllPairs) {
  for (const std::int64_t count : {2, 3, 7, 8, 9, 31, 100, 1023, 1024, 2500}) {
    for (const std::int64_t levels : {3, 40, 100'000}) {
      const at::Tensor x = scattered(count, 7919, levels);
      const at::Tensor y = x.add(scattered(count, 104'729, levels));
      const Reference expected = all_pairs(x, y);
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        const auto counts =
            regression::count_pairs(x.to(dtype), y.to(dtype)).value();
        EXPECT_EQ(counts.concordant_less_discordant, expected.difference)
            << count << " of " << levels;
        EXPECT_EQ(counts.x.pairs, expected.tied_x);
        EXPECT_EQ(counts.y.pairs, expected.tied_y);
      }
    }
  }
}

// By a tree of counts, which knows nothing of digits.
std::int64_t inversions_by_tree(const std::vector<std::uint32_t>& ranks,
                                std::size_t distinct) {
  std::vector<std::int64_t> tree(distinct + 1);
  std::int64_t inversions = 0, seen = 0;
  for (const std::uint32_t rank : ranks) {
    std::int64_t not_above = 0;
    for (std::size_t i = rank + 1; i > 0; i &= i - 1) not_above += tree[i];
    inversions += seen++ - not_above;
    for (std::size_t i = rank + 1; i <= distinct; i += i & (~i + 1)) ++tree[i];
  }
  return inversions;
}

TEST(RanksTest, InversionsOfAnyNumberOfDigits) {
  std::mt19937 random(3);
  for (const std::size_t distinct : {1, 2, 16, 17, 255, 257, 5000, 70'000}) {
    for (const std::size_t count : {1, 16, 17, 1000, 40'000}) {
      std::vector<std::uint32_t> ranks(count), spare(count);
      for (auto& rank : ranks) {
        rank = static_cast<std::uint32_t>(random() % distinct);
      }
      const std::int64_t expected = inversions_by_tree(ranks, distinct);
      EXPECT_EQ(
          regression::count_inversions(ranks.data(), spare.data(),
                                       static_cast<std::int64_t>(count),
                                       static_cast<std::int64_t>(distinct)),
          expected)
          << count << " of " << distinct;
    }
  }
}

TEST(RanksTest, FewValuesHaveOneZeroAndNoNan) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const auto x = at::tensor({-0.0, 0.0, 1.0, 1.0}).repeat(8).to(dtype);
    const auto y = at::tensor({0.0, -0.0, 0.0, 2.0}).repeat(8).to(dtype);
    const auto counts = regression::count_pairs(x, y).value();
    const Reference expected = all_pairs(x, y);
    EXPECT_EQ(counts.concordant_less_discordant, expected.difference);
    EXPECT_EQ(counts.x.distinct, 2);
    EXPECT_EQ(counts.y.distinct, 2);
    EXPECT_EQ(counts.y.pairs, expected.tied_y);
    const at::Tensor nan = y.clone();
    nan.fill_(kNaN);
    nan.narrow(0, 0, 20).fill_(1);
    EXPECT_FALSE(regression::count_pairs(x, nan));
    EXPECT_FALSE(regression::count_pairs(nan, x));
    EXPECT_TRUE(std::isnan(spearman(x, nan)));
  }
}

TEST(RanksTest, VariantsDifferByTheirTies) {
  const at::Tensor x = at::tensor({1, 1, 2, 3});
  const at::Tensor y = at::tensor({1, 2, 2, 3});
  // Four concordant pairs, two ties, of six pairs.
  EXPECT_DOUBLE_EQ(kendall(x, y, KendallVariant::kA), 4.0 / 6);
  EXPECT_DOUBLE_EQ(kendall(x, y, KendallVariant::kB), 4.0 / 5);
  EXPECT_DOUBLE_EQ(kendall(x, y, KendallVariant::kC), 8.0 / (16 * 2 / 3.0));
}

TEST(RanksTest, TestOfTwoSamplesIsDefined) {
  KendallRankCorrCoef metric(KendallRankCorrCoefOptions().t_test(true));
  metric.update(at::tensor({1.0, 2.0}), at::tensor({1.0, 2.0}));
  const KendallResult result = metric.compute();
  EXPECT_EQ(result.tau.item<double>(), 1);
  EXPECT_NEAR(result.p_value.item<double>(), std::erfc(std::sqrt(0.5)), 1e-12);
}

TEST(RanksTest, PartsHaveNamesInACollection) {
  MetricCollection metrics;
  metrics.add("spearman", SpearmanCorrCoef());
  metrics.add("kendall", KendallRankCorrCoef());
  metrics.add("tested",
              KendallRankCorrCoef(KendallRankCorrCoefOptions().t_test(true)));
  metrics.update(at::arange(10), at::arange(10));
  const Results results = metrics.compute();
  EXPECT_TRUE(results.contains("kendall"));
  EXPECT_FALSE(results.contains("kendall.p_value"));
  EXPECT_TRUE(results.contains("tested"));
  EXPECT_LT(results["tested.p_value"].item<double>(), 1e-3);
  EXPECT_EQ(SpearmanCorrCoef().state_key(), KendallRankCorrCoef().state_key());
}

TEST(RanksTest, UndefinedBeforeAnyUpdate) {
  SpearmanCorrCoef one;
  EXPECT_TRUE(std::isnan(one.compute().item<double>()));
  one.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(one.compute().item<double>()));
  SpearmanCorrCoef several(3);
  EXPECT_EQ(several.compute().sizes(), at::IntArrayRef{3});
  KendallRankCorrCoef tau(KendallRankCorrCoefOptions(2).t_test(true));
  EXPECT_TRUE(tau.compute().tau.isnan().all().item<bool>());
  EXPECT_TRUE(tau.compute().p_value.isnan().all().item<bool>());
  tau.update(at::ones({0, 2}), at::ones({0, 2}));
  EXPECT_TRUE(tau.compute().p_value.isnan().all().item<bool>());
}

TEST(RanksTest, HalfIsKeptAsFloat) {
  const at::Tensor half = at::arange(20).to(at::kHalf);
  SpearmanCorrCoef metric;
  metric.update(half, half.to(at::kFloat));
  EXPECT_EQ(metric.state()["preds"].scalar_type(), at::kFloat);
  metric.update(half.to(at::kBFloat16), half);
  EXPECT_EQ(metric.compute().item<double>(), 1);
}

TEST(RanksTest, RefusesInputsThatDoNotFit) {
  SpearmanCorrCoef one;
  EXPECT_THROW(one.update(at::ones({2}), at::ones({3})), c10::ValueError);
  EXPECT_THROW(one.update(at::ones({2, 2}), at::ones({2, 2})), c10::ValueError);
  EXPECT_THROW(one.update(at::ones({2}), at::ones({2}, at::kComplexFloat)),
               c10::TypeError);
  one.update(at::ones({2}), at::ones({2}));
  try {
    one.update(at::ones({2}, at::kDouble), at::ones({2}));
    FAIL() << "rows of two dtypes were joined";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("preds"));
  }
  EXPECT_EQ(one.update_count(), 1);
  EXPECT_THROW(SpearmanCorrCoef(0), c10::ValueError);
  EXPECT_THROW(KendallRankCorrCoef(-1), c10::ValueError);
}

// One stored value stands for all samples.
TEST(RanksTest, KendallRefusesMoreThanItCanCount) {
  const std::int64_t count = std::int64_t{1} << 32;
  SamplePairs::State state;
  state.preds = state.target = Rows(at::ones({1}).expand({count}));
  EXPECT_EQ(testkit::refusal_of([&] { KendallRankCorrCoef().evaluate(state); }),
            "expected less than 2^32 samples, got 4294967296");
}

TEST(RanksTest, NanGoesByThePolicy) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 2.0, 3.0, 4.0});
  const at::Tensor target = at::tensor({1.0, 7.0, 3.0, 2.0, 4.0});
  EXPECT_TRUE(std::isnan(spearman(preds, target)));
  EXPECT_TRUE(std::isnan(kendall(target, preds)));
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  SpearmanCorrCoef ignoring({}, ignore);
  ignoring.update(preds, target);
  EXPECT_NEAR(ignoring.compute().item<double>(), 0.8, 1e-15);
  SpearmanCorrCoef several(2, ignore);
  several.update(at::stack({preds, target}, 1), at::stack({target, target}, 1));
  EXPECT_TRUE(several.compute().allclose(at::tensor({0.8, 1.0})));
  SpearmanCorrCoef refusing({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THROW(refusing.update(preds, target), c10::ValueError);
  refusing.update(target, target);
  EXPECT_EQ(refusing.update_count(), 1);
}

TEST(RanksTest, KeepsNoGraph) {
  const at::Tensor preds = at::arange(5, at::kFloat).set_requires_grad(true);
  SpearmanCorrCoef metric;
  EXPECT_FALSE(metric.forward(preds, at::arange(5)).requires_grad());
  EXPECT_FALSE(metric.state()["preds"].requires_grad());
}

}  // namespace
}  // namespace tally
