#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tally/metrics/clustering/clustering.h"
#include "tally/metrics/clustering/kernels/contingency_scores.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/tables/contingency.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace clustering = internal::clustering;
namespace tables = internal::tables;
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

template <class M>
double value(const at::Tensor& preds, const at::Tensor& target,
             const typename M::Options& options = {}) {
  const M metric(options);
  return metric.evaluate(metric.observe(preds, target)).template item<double>();
}

// Of counts alone, without their samples.
template <class M>
double value_of_cells(const std::vector<std::int64_t>& cells) {
  PairCounts state;
  state.cells = Rows(at::tensor(cells, at::kLong).view({-1, 3}));
  return M().evaluate(state).template item<double>();
}

at::Tensor labels(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

// Pair counts and their products are beyond int64.
TEST(AdjustedRandScoreTest, DoesNotOverflow) {
  for (const std::int64_t classes : {10, 1000}) {
    const std::int64_t count = classes == 10 ? 100'000 : 1'000'000;
    const at::Tensor preds = at::arange(count).remainder(classes);
    // Two thirds as they are, the others one further.
    const at::Tensor target =
        preds.add(at::arange(count).floor_divide(classes).remainder(3).eq(2))
            .remainder(classes);
    const auto n = static_cast<long double>(count);
    const auto k = static_cast<long double>(classes);
    const long double size = n / k;
    // The cells are as large as they are in each class, if not exactly.
    const at::Tensor first = target.masked_select(preds.eq(0)).eq(0).sum();
    const auto same = static_cast<long double>(first.item<std::int64_t>());
    const long double together =
        k * (same * (same - 1) + (size - same) * (size - same - 1)) / 2;
    const long double pairs = k * size * (size - 1) / 2;
    const long double all = n * (n - 1) / 2;
    const long double expected = pairs * pairs / all;
    EXPECT_NEAR(value<AdjustedRandScore>(preds, target),
                static_cast<double>((together - expected) / (pairs - expected)),
                1e-12);
  }
}

TEST(AdjustedRandScoreTest, CountsMoreSamplesThanThereAre) {
  // 1.6e13 samples, 1e26 pairs.
  constexpr std::int64_t kTimes = 1'000'000'000'000;
  const std::vector<std::int64_t> cells = {0, 0, 6 * kTimes, 0, 1, 2 * kTimes,
                                           1, 0, 1 * kTimes, 1, 1, 7 * kTimes};
  // Fractions of ordered pairs: n_ij^2 / N^2 and so on.
  const double both = (36 + 4 + 1 + 49) / 256.0;
  const double preds = (64 + 64) / 256.0;
  const double target = (49 + 81) / 256.0;
  EXPECT_NEAR(value_of_cells<RandScore>(cells), 1 + 2 * both - preds - target,
              1e-12);
  EXPECT_NEAR(value_of_cells<FowlkesMallowsIndex>(cells),
              both / std::sqrt(preds * target), 1e-12);
  const double expected = preds * target;
  EXPECT_NEAR(value_of_cells<AdjustedRandScore>(cells),
              (both - expected) / ((preds + target) / 2 - expected), 1e-12);
}

TEST(LabelScoresTest, AreThoseOfScikitLearnWhereOthersDiffer) {
  const at::Tensor one = at::zeros({8}, at::kLong);
  const at::Tensor other = one.add(3);
  EXPECT_EQ(value<MutualInfoScore>(one, other), 0);
  EXPECT_EQ(value<NormalizedMutualInfoScore>(one, other), 1);
  EXPECT_EQ(value<AdjustedMutualInfoScore>(one, other), 1);
  EXPECT_EQ(value<VMeasureScore>(one, other), 1);
  EXPECT_EQ(value<AdjustedRandScore>(one, other), 1);
  EXPECT_EQ(value<FowlkesMallowsIndex>(one, other), 1);
  const at::Tensor a = labels({0, 0, 1, 1});
  const at::Tensor b = labels({0, 1, 0, 1});
  EXPECT_NEAR(value<VMeasureScore>(a, b), 0, 1e-15);
  EXPECT_NEAR(value<AdjustedMutualInfoScore>(a, b), -0.5, 1e-15);
  EXPECT_EQ(value<AdjustedRandScore>(a, b), -0.5);
  const at::Tensor many = at::arange(8).remainder(3);
  for (const auto method : {AverageMethod::kMin, AverageMethod::kGeometric,
                            AverageMethod::kArithmetic, AverageMethod::kMax}) {
    EXPECT_EQ(value<NormalizedMutualInfoScore>(one, many, method), 0);
    EXPECT_EQ(value<NormalizedMutualInfoScore>(many, one, method), 0);
    EXPECT_EQ(value<AdjustedMutualInfoScore>(one, many, method), 0);
    // The expectation is all there is.
    EXPECT_EQ(value<AdjustedMutualInfoScore>(many, at::arange(8), method), 0);
  }
}

TEST(LabelScoresTest, OfTheSameClustersAreExactlyOne) {
  for (const std::int64_t classes : {2, 3, 7, 49}) {
    const at::Tensor preds = at::arange(1000).square().remainder(classes);
    const at::Tensor target = preds.mul(-7).add(5);
    for (const auto method :
         {AverageMethod::kMin, AverageMethod::kGeometric,
          AverageMethod::kArithmetic, AverageMethod::kMax}) {
      EXPECT_EQ(value<AdjustedMutualInfoScore>(preds, target, method), 1);
      EXPECT_EQ(value<NormalizedMutualInfoScore>(preds, target, method), 1);
    }
    EXPECT_EQ(value<HomogeneityScore>(preds, target), 1);
    EXPECT_EQ(value<CompletenessScore>(preds, target), 1);
    EXPECT_EQ(value<VMeasureScore>(preds, target), 1);
    EXPECT_EQ(value<AdjustedRandScore>(preds, target), 1);
    EXPECT_EQ(value<RandScore>(preds, target), 1);
    EXPECT_EQ(value<ClusterAccuracy>(preds, target), 1);
  }
  const at::Tensor lone = at::arange(50);
  EXPECT_EQ(value<AdjustedMutualInfoScore>(lone, lone.neg()), 1);
}

TEST(LabelScoresTest, WithoutSamplesAreNaN) {
  const at::Tensor none = at::zeros({0}, at::kLong);
  const auto check = [&](auto metric) {
    EXPECT_TRUE(std::isnan(metric.compute().template item<double>()));
    metric.update(none, none);
    EXPECT_TRUE(std::isnan(metric.compute().template item<double>()));
  };
  check(MutualInfoScore());
  check(NormalizedMutualInfoScore());
  check(AdjustedMutualInfoScore());
  check(RandScore());
  check(AdjustedRandScore());
  check(FowlkesMallowsIndex());
  check(HomogeneityScore());
  check(CompletenessScore());
  check(VMeasureScore());
  check(ClusterAccuracy());
}

// The whole distribution, by logarithms of factorials.
double information_by_factorials(const std::vector<std::int64_t>& rows,
                                 const std::vector<std::int64_t>& columns,
                                 std::int64_t total) {
  const auto factorial = [](std::int64_t n) {
    return std::lgamma(static_cast<long double>(n) + 1);
  };
  long double sum = 0;
  for (const std::int64_t a : rows) {
    for (const std::int64_t b : columns) {
      for (std::int64_t n = std::max(a + b - total, std::int64_t{1});
           n <= std::min(a, b); ++n) {
        const long double log_probability =
            factorial(a) + factorial(b) + factorial(total - a) +
            factorial(total - b) - factorial(total) - factorial(n) -
            factorial(a - n) - factorial(b - n) - factorial(total - a - b + n);
        sum +=
            std::exp(log_probability) * static_cast<long double>(n) *
            std::log(static_cast<long double>(n) *
                     static_cast<long double>(total) /
                     static_cast<long double>(a) / static_cast<long double>(b));
      }
    }
  }
  return static_cast<double>(sum / static_cast<long double>(total));
}

TEST(ExpectedInformationTest, IsThatOfTheWholeDistribution) {
  const std::vector<std::vector<std::vector<std::int64_t>>> tables = {
      {{1, 1}, {1, 1}},
      {{3, 3, 3, 3}, {5, 7}},
      {{500, 300, 200}, {400, 350, 250}},
      {{900, 99, 1}, {1, 1, 998}},
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {11, 11, 11, 11, 11}},
      {{20'000, 30'000}, {49'999, 1}},
      {{10'000, 10'000, 10'000}, {15'000, 14'000, 1000}}};
  for (const auto& sums : tables) {
    const std::int64_t total =
        std::accumulate(sums[0].begin(), sums[0].end(), std::int64_t{0});
    const double expected = information_by_factorials(sums[0], sums[1], total);
    EXPECT_NEAR(clustering::expected_information(sums[0], sums[1], total),
                expected, 1e-14 + 1e-12 * expected)
        << total;
  }
}

std::int64_t by_all_permutations(const std::vector<std::int64_t>& counts,
                                 std::size_t rows, std::size_t columns) {
  const std::size_t size = std::max(rows, columns);
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::int64_t best = 0;
  do {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      if (order[i] < columns) sum += counts[i * columns + order[i]];
    }
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ClusterAccuracyTest, AssignsAsTheBestPermutationDoes) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rows = 1 + random() % 6;
    const std::size_t columns = 1 + random() % 6;
    // Few different counts make many ties.
    const auto most = round % 3 == 0 ? 3u : 1000u;
    std::vector<std::int64_t> counts(rows * columns), cells;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (random() % 3 == 0) continue;
      counts[i] = 1 + random() % most;
      cells.insert(cells.end(),
                   {static_cast<std::int64_t>(i / columns),
                    static_cast<std::int64_t>(i % columns), counts[i]});
    }
    if (cells.empty()) continue;
    const auto table =
        tables::contingency_of(at::tensor(cells, at::kLong).view({-1, 3}));
    EXPECT_EQ(clustering::largest_assignment(table),
              by_all_permutations(counts, rows, columns))
        << "round " << round;
  }
}

TEST(ClusterAccuracyTest, FindsALargeHiddenAssignment) {
  const std::int64_t size = 400;
  const at::Tensor preds = at::arange(40 * size).remainder(size);
  const at::Tensor hidden = preds.mul(7).add(3).remainder(size);
  const at::Tensor noise = at::arange(40 * size).mul(7919).remainder(size);
  const at::Tensor is_noise = at::arange(40 * size).remainder(5).eq(0);
  const at::Tensor target =
      hidden.masked_scatter(is_noise, noise.masked_select(is_noise));
  EXPECT_NEAR(value<ClusterAccuracy>(preds, target),
              target.eq(hidden).to(at::kDouble).mean().item<double>(), 1e-12);
}

TEST(ClusterAccuracyTest, TakesMoreClustersThanClasses) {
  EXPECT_DOUBLE_EQ(
      value<ClusterAccuracy>(labels({0, 1, 2, 3, 3}), labels({5, 5, 6, 6, 6})),
      3.0 / 5);
  EXPECT_DOUBLE_EQ(
      value<ClusterAccuracy>(labels({5, 5, 6, 6, 6}), labels({0, 1, 2, 3, 3})),
      3.0 / 5);
}

TEST(ClusterAccuracyTest, ChecksLabelsAgainstNumClasses) {
  ClusterAccuracy accuracy(3);
  accuracy.update(labels({0, 1, 2}), labels({1, 1, 0}));
  EXPECT_EQ(refusal_of([&] {
              accuracy.update(labels({0, 3}), labels({1, 1}));
            }),
            "expected labels from 0 to 2 in preds, got 3 at position 1 "
            "(ClusterAccuracy)");
  EXPECT_THAT(refusal_of([&] {
                accuracy.update(labels({0, 1}), labels({1, -1}));
              }),
              HasSubstr("in target, got -1 at position 1"));
  EXPECT_EQ(accuracy.update_count(), 1);
  ClusterAccuracy careless(3, MetricOptions().validate_args(false));
  careless.update(labels({0, 3}), labels({1, 1}));
  EXPECT_EQ(refusal_of([] { ClusterAccuracy none(0); }),
            "ClusterAccuracy: expected num_classes of at least 1, got 0");
}

TEST(LabelScoresTest, ShareOneStateThatKeepsNoSamples) {
  MetricCollection metrics;
  metrics.add("mi", MutualInfoScore());
  metrics.add("ami", AdjustedMutualInfoScore(AverageMethod::kMax));
  metrics.add("rand", AdjustedRandScore());
  metrics.add("accuracy", ClusterAccuracy());
  metrics.add("v", VMeasureScore(2.0));
  RandScore alone;
  for (int i = 0; i < 100; ++i) {
    const at::Tensor preds = at::randint(4, {64}, at::kLong);
    const at::Tensor target = at::randint(3, {64}, at::kLong);
    metrics.update(preds, target);
    alone.update(preds, target);
  }
  EXPECT_EQ(MutualInfoScore().state_key(), ClusterAccuracy().state_key());
  EXPECT_EQ(VMeasureScore(2.0).state_key(), RandScore().state_key());
  EXPECT_NE(ClusterAccuracy(3).state_key(), RandScore().state_key());
  EXPECT_LT(alone.state()["cells"].size(0), 320);
  EXPECT_TRUE(metrics.compute().contains("accuracy"));
}

TEST(LabelScoresTest, RefuseWhatIsNoLabel) {
  RandScore score;
  EXPECT_EQ(refusal_of<c10::TypeError>(
                [&] { score.update(at::ones({3}), at::ones({3}, at::kLong)); }),
            "expected preds of an integer dtype, got Float; for whole "
            "numbers pass preds.to(at::kLong) (RandScore)");
  EXPECT_EQ(refusal_of<c10::TypeError>(
                [&] { score.update(at::ones({3}, at::kLong), at::ones({3})); }),
            "expected target of an integer dtype, got Float; for whole "
            "numbers pass target.to(at::kLong) (RandScore)");
  EXPECT_EQ(refusal_of([&] {
              score.update(at::ones({3}, at::kLong), at::ones({4}, at::kLong));
            }),
            "expected preds and target of the same shape, got [3] and [4]; "
            "these are 3 rows and 4 (RandScore)");
  EXPECT_THROW(score.update(at::Tensor(), at::ones({4}, at::kLong)),
               c10::ValueError);
  EXPECT_EQ(score.update_count(), 0);
  EXPECT_EQ(refusal_of([] { VMeasureScore none(0.0); }),
            "VMeasureScore: expected beta above 0, got 0");
}

}  // namespace
}  // namespace tally
