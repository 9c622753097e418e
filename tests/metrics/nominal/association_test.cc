#include <ATen/ops/arange.h>
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

#include "tally/metrics/clustering/homogeneity_completeness_v_measure.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/nominal/nominal.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class M>
double value(const at::Tensor& preds, const at::Tensor& target,
             const typename M::Options& options = {},
             const MetricOptions& metric_options = {}) {
  const M metric(options, metric_options);
  return metric.evaluate(metric.observe(preds, target)).template item<double>();
}

at::Tensor labels(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}
at::Tensor floats(const std::vector<float>& values) {
  return at::tensor(values, at::kFloat);
}

// Of counts [2, 2] of samples.
PairCounts table(std::int64_t a, std::int64_t b, std::int64_t c,
                 std::int64_t d) {
  PairCounts state;
  state.cells =
      Rows(labels({0, 0, a, 0, 1, b, 1, 0, c, 1, 1, d}).view({-1, 3}));
  return state;
}

TEST(CramersVTest, CorrectsTheBiasWithoutYates) {
  // N = 20, chi2 = 20 (8 * 6 - 2 * 4)^2 / (10 * 10 * 12 * 8).
  const double phi = 1600.0 / 9600;
  const PairCounts state = table(8, 2, 4, 6);
  const double corrected = std::sqrt((phi - 1.0 / 19) / (1 - 1.0 / 19));
  EXPECT_NEAR(CramersV().evaluate(state).item<double>(), corrected, 1e-14);
  EXPECT_NEAR(TschuprowsT().evaluate(state).item<double>(), corrected, 1e-14);
  CramersVOptions plain;
  plain.bias_correction(false);
  EXPECT_NEAR(CramersV(plain).evaluate(state).item<double>(), std::sqrt(phi),
              1e-14);
  // chi2 = 20 (|8 * 6 - 2 * 4| - 10)^2 / (10 * 10 * 12 * 8).
  plain.yates(true);
  EXPECT_NEAR(CramersV(plain).evaluate(state).item<double>(),
              std::sqrt(900.0 / 9600), 1e-14);
}

TEST(CramersVTest, YatesGoesNoFurtherThanTheExpectedCounts) {
  const PairCounts state = table(5, 5, 5, 6);
  CramersVOptions options;
  options.bias_correction(false).yates(true);
  EXPECT_EQ(CramersV(options).evaluate(state).item<double>(), 0);
  // Of other tables it changes nothing.
  const at::Tensor preds = at::arange(60).remainder(3);
  const at::Tensor target = at::arange(60).square().remainder(7);
  EXPECT_EQ(
      value<CramersV>(preds, target, options),
      value<CramersV>(preds, target, CramersVOptions().bias_correction(false)));
}

TEST(CramersVTest, IndependentVariablesGiveExactlyZero) {
  const at::Tensor preds = at::arange(3000).remainder(3);
  const at::Tensor target = at::arange(3000).floor_divide(3).remainder(5);
  const auto plain = CramersVOptions().bias_correction(false);
  EXPECT_EQ(value<CramersV>(preds, target, plain), 0);
  EXPECT_EQ(value<CramersV>(preds, target), 0);
  EXPECT_EQ(value<TschuprowsT>(preds, target, plain), 0);
  EXPECT_EQ(value<PearsonsContingencyCoefficient>(preds, target), 0);
}

TEST(CramersVTest, CountsLevelsThatArePresent) {
  // As many rows and columns as occur, whatever num_classes says.
  const at::Tensor preds = labels({5, 9, 5, 9, 5, 5});
  const at::Tensor target = labels({0, 40, 0, 40, 40, 0});
  EXPECT_EQ(value<CramersV>(preds, target, CramersVOptions(100)),
            value<CramersV>(preds.ne(5), target.ne(0)));
}

TEST(CramersVTest, IsUndefinedForASingleCategory) {
  const at::Tensor preds = at::arange(6).remainder(3);
  const at::Tensor one = at::zeros({6}, at::kLong);
  for (const bool correction : {false, true}) {
    const auto options = CramersVOptions().bias_correction(correction);
    EXPECT_TRUE(std::isnan(value<CramersV>(preds, one, options)));
    EXPECT_TRUE(std::isnan(value<TschuprowsT>(one, preds, options)));
    // One category for each sample: the correction takes all of it.
    EXPECT_EQ(std::isnan(value<CramersV>(at::arange(6), preds, options)),
              correction);
  }
  EXPECT_EQ(value<PearsonsContingencyCoefficient>(preds, one), 0);
  EXPECT_TRUE(std::isnan(CramersV().compute().item<double>()));
  EXPECT_TRUE(std::isnan(TschuprowsT().compute().item<double>()));
  EXPECT_TRUE(std::isnan(TheilsU().compute().item<double>()));
  EXPECT_TRUE(
      std::isnan(PearsonsContingencyCoefficient().compute().item<double>()));
}

TEST(TheilsUTest, IsOfPredsGivenTheTarget) {
  const at::Tensor preds = labels({0, 0, 1, 1, 2, 2});
  const at::Tensor target = labels({0, 0, 1, 1, 1, 1});
  EXPECT_NEAR(value<TheilsU>(preds, target), 0.5793801642856950, 1e-14);
  EXPECT_EQ(value<TheilsU>(target, preds), 1);
}

TEST(TheilsUTest, IsCompletenessAndSwappedHomogeneity) {
  for (int i = 0; i < 20; ++i) {
    const at::Tensor preds = at::randint(5, {60}, at::kLong);
    const at::Tensor target = at::randint(3, {60}, at::kLong);
    CompletenessScore completeness;
    completeness.update(preds, target);
    EXPECT_EQ(value<TheilsU>(preds, target),
              completeness.compute().item<double>());
    HomogeneityScore homogeneity;
    homogeneity.update(preds, target);
    EXPECT_NEAR(value<TheilsU>(target, preds),
                homogeneity.compute().item<double>(), 1e-15);
  }
}

TEST(TheilsUTest, ExplainsNothingOfAConstant) {
  const at::Tensor one = at::zeros({6}, at::kLong);
  const at::Tensor result = [&] {
    TheilsU u;
    u.update(one, at::arange(6));
    return u.compute();
  }();
  EXPECT_EQ(result.scalar_type(), at::kDouble);
  EXPECT_EQ(result.item<double>(), 0);
  EXPECT_EQ(value<TheilsU>(one, one), 0);
}

TEST(CategoryPairsTest, MissingValuesGoByTheStrategy) {
  const at::Tensor preds = floats({0, 1, kNaN, 1, 0, 2, 2});
  const at::Tensor target = floats({0, 1, 1, 1, kNaN, 2, 0});
  const auto with = [&](NominalNanStrategy strategy, double replace = 0) {
    return value<TheilsU>(
        preds, target,
        TheilsUOptions().nan_strategy(strategy).nan_replace_value(replace));
  };
  const auto expect = [&](double actual, const std::vector<std::int64_t>& p,
                          const std::vector<std::int64_t>& t) {
    EXPECT_NEAR(actual, value<TheilsU>(labels(p), labels(t)), 1e-14);
  };
  expect(with(NominalNanStrategy::kDrop), {0, 1, 1, 2, 2}, {0, 1, 1, 2, 0});
  expect(with(NominalNanStrategy::kReplace), {0, 1, 0, 1, 0, 2, 2},
         {0, 1, 1, 1, 0, 2, 0});
  expect(with(NominalNanStrategy::kReplace, 5), {0, 1, 5, 1, 0, 2, 2},
         {0, 1, 1, 1, 5, 2, 0});
  expect(with(NominalNanStrategy::kCategory), {0, 1, 9, 1, 0, 2, 2},
         {0, 1, 1, 1, 9, 2, 0});
  EXPECT_EQ(TheilsUOptions().nan_strategy(), NominalNanStrategy::kDrop);
}

TEST(CategoryPairsTest, TheNanPolicyHasTheLastWord) {
  const at::Tensor preds = floats({0, 1, kNaN, 1, 0});
  const at::Tensor target = floats({0, 1, 1, 0, 0});
  const auto options =
      TheilsUOptions().nan_strategy(NominalNanStrategy::kCategory);
  TheilsU refusing(options, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_EQ(refusal_of([&] { refusing.update(preds, target); }),
            "expected preds without NaN, got some (TheilsU)");
  EXPECT_EQ(refusal_of([&] { refusing.update(target, preds); }),
            "expected target without NaN, got some (TheilsU)");
  refusing.update(target, target);
  EXPECT_EQ(refusing.update_count(), 1);
  EXPECT_EQ(value<TheilsU>(preds, target, options,
                           MetricOptions().nan_policy(NanPolicy::kIgnore)),
            value<TheilsU>(preds, target));
}

TEST(CategoryPairsTest, TakesAnyWholeNumbers) {
  const at::Tensor preds = labels({5, 9, 5, 9, 5, 7});
  const at::Tensor target = labels({-4, 2, -4, 2, 2, 2});
  const double expected = value<CramersV>(preds, target);
  const at::Tensor far = preds.mul(std::int64_t{1} << 40).neg();
  EXPECT_EQ(value<CramersV>(far, target), expected);
  EXPECT_EQ(value<CramersV>(far.to(at::kDouble), target.to(at::kShort)),
            expected);
}

TEST(CategoryPairsTest, TakesThePlacesOfScores) {
  // The first of equal ones; a row with a NaN is missing.
  const at::Tensor scores =
      floats({1, 3, 3, 5, 0, 0, 0, 1, kNaN, 2, 4, 6}).view({4, 3});
  const at::Tensor target = labels({7, 8, 8, 7});
  EXPECT_EQ(value<TheilsU>(scores, target),
            value<TheilsU>(labels({1, 0, 2}), labels({7, 8, 7})));
  EXPECT_EQ(value<TheilsU>(target, scores),
            value<TheilsU>(labels({7, 8, 7}), labels({1, 0, 2})));
}

TEST(CategoryPairsTest, RefusesWhatIsNoCategory) {
  CramersV v(4);
  const at::Tensor own = labels({0, 1, 2});
  const auto refusal = [&](const at::Tensor& preds, const at::Tensor& target) {
    return refusal_of([&] { v.update(preds, target); });
  };
  EXPECT_EQ(refusal(floats({0, 0.5, 1}), own),
            "expected whole numbers as categories in preds, got 0.5 at "
            "position 1 (CramersV)");
  EXPECT_THAT(refusal(own, floats({0, 1, -INFINITY})),
              HasSubstr("in target, got -inf at position 2"));
  EXPECT_THAT(refusal(floats({0, 1, 1e30f}), own), HasSubstr("got 1e+30"));
  EXPECT_EQ(refusal(labels({0, 1, 4}), own),
            "expected labels from 0 to 3 in preds, got 4 at position 2 "
            "(CramersV)");
  EXPECT_EQ(refusal(own, labels({0, 1})),
            "expected as many rows in preds and target, got [3] and [2] "
            "(CramersV)");
  EXPECT_THAT(
      refusal(own.view({3, 1, 1}), own),
      HasSubstr("expected preds of shape [N] or [N, C], got [3, 1, 1]"));
  EXPECT_EQ(refusal_of<c10::TypeError>(
                [&] { v.update(at::ones({3}, at::kComplexFloat), own); }),
            "expected preds of a real dtype, got ComplexFloat (CramersV)");
  EXPECT_EQ(v.update_count(), 0);
  EXPECT_EQ(refusal_of([] { CramersV none(0); }),
            "CramersV: expected num_classes of at least 1, got 0");
  EXPECT_EQ(refusal_of([] {
              CramersV half(CramersVOptions().nan_replace_value(0.5));
            }),
            "CramersV: expected a whole number as nan_replace_value, got 0.5");
}

TEST(CategoryPairsTest, KeepsTheLeastLabelForMissingValues) {
  const at::Tensor least = labels({std::numeric_limits<std::int64_t>::min()});
  TheilsU u(TheilsUOptions().nan_strategy(NominalNanStrategy::kCategory));
  EXPECT_THAT(refusal_of([&] { u.update(least, least); }),
              HasSubstr("expected categories above -2^63 in preds"));
  TheilsU().update(least, least);
}

TEST(CategoryPairsTest, ShareOneStateThatKeepsNoSamples) {
  MetricCollection metrics;
  metrics.add("v", CramersV());
  metrics.add("plain", CramersV(CramersVOptions().bias_correction(false)));
  metrics.add("t", TschuprowsT());
  metrics.add("pearson", PearsonsContingencyCoefficient());
  metrics.add("u", TheilsU());
  CramersV alone;
  for (int i = 0; i < 100; ++i) {
    const at::Tensor preds = at::randint(4, {64}, at::kLong);
    const at::Tensor target = at::randint(3, {64}, at::kLong);
    metrics.update(preds, target);
    alone.update(preds, target);
  }
  EXPECT_EQ(CramersV().state_key(), TheilsU().state_key());
  EXPECT_EQ(TschuprowsT().state_key(),
            PearsonsContingencyCoefficient().state_key());
  EXPECT_NE(CramersV(4).state_key(), CramersV().state_key());
  EXPECT_EQ(alone.state()["cells"].scalar_type(), at::kLong);
  EXPECT_LT(alone.state()["cells"].size(0), 320);
  EXPECT_EQ(metrics.compute().size(), 5u);
}

// Beyond what float32 counts.
TEST(CategoryPairsTest, CountsInInt64) {
  const std::int64_t many = (std::int64_t{1} << 40) + 1;
  const PairCounts state = table(many, 1, 1, many);
  CramersV v(CramersVOptions().bias_correction(false));
  EXPECT_LT(v.evaluate(state).item<double>(), 1);
  EXPECT_NEAR(v.evaluate(state).item<double>(), 1 - 0x1p-39, 1e-15);
}

}  // namespace
}  // namespace tally
