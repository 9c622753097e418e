#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tally/metrics/collection.h"
#include "tally/metrics/common/pair_kernels.h"
#include "tally/metrics/regression/normalized_root_mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/testing/generators.h"
#include "tally/testing/metric_laws.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace regression = internal::regression;
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

at::Tensor wave(std::int64_t count, double phase) {
  return at::arange(count, at::kDouble).mul(0.37).add(phase).sin();
}

// R^2 by the textbook, in two passes over float64.
double reference_r2(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor p = preds.to(at::kDouble);
  const at::Tensor t = target.to(at::kDouble);
  return 1 - t.sub(p).square().sum().item<double>() /
                 t.sub(t.mean()).square().sum().item<double>();
}

template <class M>
void check() {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  // Where targets do not vary, the value jumps.
  options.skip_gradients = {"constant_target",
                            "constant_equal",
                            "one_constant_output",
                            "variance_weighted_constant_output",
                            "variance_weighted_constant",
                            "equal",
                            "single_sample"};
  testkit::check_metric<M>(M::kName, options);
}

TEST(MomentsTest, R2PassesTheHarness) { check<R2Score>(); }
TEST(MomentsTest, ExplainedVariancePassesTheHarness) {
  check<ExplainedVariance>();
}
TEST(MomentsTest, RelativeSquaredErrorPassesTheHarness) {
  check<RelativeSquaredError>();
}
TEST(MomentsTest, ConcordancePassesTheHarness) { check<ConcordanceCorrCoef>(); }
TEST(MomentsTest, NormalizedErrorPassesTheHarness) {
  check<NormalizedRootMeanSquaredError>();
}

// Means of either sign, near and far from 0.
TEST(MomentsTest, NoErrorOfAnyNormalizationIsBetterThanNone) {
  for (const Normalization kind : {Normalization::kMean, Normalization::kRange,
                                   Normalization::kStd, Normalization::kL2}) {
    for (const double offset : {-2.0, -0.1, 0.0, 3.0}) {
      testkit::check_metric_laws(
          [&](const MetricOptions& options) {
            return std::make_unique<NormalizedRootMeanSquaredError>(kind,
                                                                    options);
          },
          [&](std::uint64_t seed, std::int64_t rows) {
            return testkit::Batch{
                testkit::reals()(seed, rows).tensor().add(offset),
                testkit::reals()(seed + 1, rows).tensor().add(offset)};
          },
          testkit::MetricLawOptions().rounds(1).differentiable_inputs({0, 1}));
    }
  }
}

// -1, -2, 0.5, 1.5 and -0.5 have the mean -0.3.
TEST(MomentsTest, NormalizedErrorOfANegativeMean) {
  const at::Tensor target = at::tensor({-1.0, -2.0, 0.5, 1.5, -0.5});
  NormalizedRootMeanSquaredError metric;
  EXPECT_NEAR(metric.forward(target.add(0.1), target).item<double>(), 0.1 / 0.3,
              1e-12);
  EXPECT_NEAR(metric.forward(target.add(10), target).item<double>(), 10 / 0.3,
              1e-12);
}

// RMSE / (max - min) = 1 / 4 for errors of 1 and targets 1, 2, 5.
TEST(MomentsTest, TheGradientGoesThroughTheRange) {
  const at::Tensor target = at::tensor({1.0, 2.0, 5.0}).set_requires_grad(true);
  NormalizedRootMeanSquaredError metric(Normalization::kRange);
  const at::Tensor value = metric.forward(target.detach().add(1), target);
  EXPECT_EQ(value.item<double>(), 0.25);
  value.backward();
  // Of the error -1 / (3 * 4) each, of the range 1 / 16 and -1 / 16.
  EXPECT_TRUE(target.grad().allclose(
      at::tensor({-1.0 / 12 + 1.0 / 16, -1.0 / 12, -1.0 / 12 - 1.0 / 16}),
      1e-12, 0));
}

template <class T>
void expect_right_sums(const at::Tensor& preds, const at::Tensor& target) {
  const T* const p = preds.const_data_ptr<T>();
  const T* const t = target.const_data_ptr<T>();
  for (std::int64_t count = 1; count <= preds.numel(); ++count) {
    const auto first = [count](const at::Tensor& x) {
      return x.narrow(0, 0, count).to(at::kDouble);
    };
    const at::Tensor error = first(preds).sub(first(target));
    const at::Tensor a = first(preds).sub(preds[0].to(at::kDouble));
    const at::Tensor b = first(target).sub(target[0].to(at::kDouble));
    const auto expect_sum = [count](double value, const at::Tensor& terms) {
      EXPECT_NEAR(value, terms.sum().item<double>(), 1e-9) << count;
    };
    const regression::ShiftedSums s = regression::shifted_sums(p, t, count);
    EXPECT_EQ(s.weight, count);
    expect_sum(s.preds, a);
    expect_sum(s.target, b);
    expect_sum(s.preds_preds, a.square());
    expect_sum(s.target_target, b.square());
    expect_sum(s.preds_target, a.mul(b));
    expect_sum(s.error, error.square());
    expect_sum(regression::squared_error_sum(p, t, count), error.square());
    expect_sum(regression::absolute_error_sum(p, t, count), error.abs());
  }
}

TEST(MomentsTest, KernelsAddUpAnyNumberOfAnyType) {
  const at::Tensor preds = wave(70, 0).mul(20).add(3);
  const at::Tensor target = wave(70, 1).mul(30).sub(2);
  expect_right_sums<float>(preds.to(at::kFloat), target.to(at::kFloat));
  expect_right_sums<double>(preds, target);
  expect_right_sums<std::int64_t>(preds.to(at::kLong), target.to(at::kLong));
}

TEST(MomentsTest, OffsetsCostNoPrecision) {
  const at::Tensor target = wave(90'000, 0).add(1e4).to(at::kFloat);
  const at::Tensor preds = wave(90'000, 0.1).mul(0.95).add(1e4).to(at::kFloat);
  const double expected = reference_r2(preds, target);
  R2Score r2;
  ExplainedVariance explained;
  for (std::int64_t row = 0; row < 90'000; row += 9'000) {
    r2.update(preds.narrow(0, row, 9'000), target.narrow(0, row, 9'000));
    explained.update(preds.narrow(0, row, 9'000), target.narrow(0, row, 9'000));
  }
  EXPECT_NEAR(value_of(r2), expected, 1e-12);
  EXPECT_GE(value_of(explained), value_of(r2));
  EXPECT_LT(value_of(explained), 1);
}

TEST(MomentsTest, SmallTargetsAreNotConstant) {
  const at::Tensor target = wave(1000, 0).mul(1e-3).to(at::kFloat);
  const at::Tensor preds = wave(1000, 2).mul(1e-3).to(at::kFloat);
  R2Score r2;
  r2.update(preds, target);
  EXPECT_NEAR(value_of(r2), reference_r2(preds, target), 1e-12);
  EXPECT_LT(value_of(r2), -1);
}

// 5000 rows of 0.1 have no mean that is 0.1, over blocks and merges.
TEST(MomentsTest, ConstantTargetsAreConstant) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor target = at::full({5000}, 0.1, dtype);
    R2Score wrong, right;
    for (const std::int64_t rows : {3, 5000, 1, 7}) {
      wrong.update(wave(rows, 0).to(dtype), target.narrow(0, 0, rows));
      right.update(target.narrow(0, 0, rows), target.narrow(0, 0, rows));
    }
    EXPECT_EQ(value_of(wrong), 0);
    EXPECT_EQ(value_of(right), 1);
  }
}

TEST(MomentsTest, IntegersAreWidened) {
  const at::Tensor target = at::arange(200).to(at::kByte);
  const at::Tensor preds = at::arange(200).flip(0).to(at::kByte);
  R2Score r2;
  r2.update(preds, target);
  EXPECT_DOUBLE_EQ(value_of(r2), -3);
  R2Score large;
  const std::int64_t most = std::int64_t{1} << 40;
  large.update(at::tensor({most, most + 2}), at::tensor({most, most + 1}));
  EXPECT_DOUBLE_EQ(value_of(large), -1);
}

TEST(MomentsTest, CountersGoOnPastTwoToThe24) {
  const at::Tensor x = at::arange(1 << 22, at::kFloat);
  R2Score r2;
  for (int i = 0; i < 5; ++i) r2.update(x, x);
  EXPECT_EQ(r2.state()["total"].item<std::int64_t>(), 5 * (1 << 22));
  EXPECT_EQ(r2.state()["weight"].item<double>(), 5.0 * (1 << 22));
  EXPECT_EQ(value_of(r2), 1);
}

TEST(MomentsTest, AdjustedNeedsMoreSamplesThanRegressors) {
  const at::Tensor target = wave(5, 0);
  const at::Tensor preds = wave(5, 0.4);
  for (const std::int64_t adjusted : {3, 4, 5}) {
    R2Score r2(R2ScoreOptions().adjusted(adjusted));
    r2.update(preds, target);
    EXPECT_EQ(std::isnan(value_of(r2)), adjusted > 3) << adjusted;
  }
}

TEST(MomentsTest, UndefinedBeforeAnyUpdate) {
  for (const auto multioutput :
       {MultiOutput::kUniformAverage, MultiOutput::kVarianceWeighted}) {
    R2Score r2(R2ScoreOptions(3).multioutput(multioutput));
    EXPECT_TRUE(std::isnan(value_of(r2)));
  }
  R2Score raw(R2ScoreOptions(3).multioutput(MultiOutput::kRawValues));
  EXPECT_EQ(raw.compute().sizes(), at::IntArrayRef{3});
  RelativeSquaredError error;
  EXPECT_TRUE(std::isnan(value_of(error)));
  ConcordanceCorrCoef concordance;
  EXPECT_TRUE(std::isnan(value_of(concordance)));
  for (const auto kind : {Normalization::kMean, Normalization::kRange,
                          Normalization::kStd, Normalization::kL2}) {
    NormalizedRootMeanSquaredError error_of_kind(kind);
    EXPECT_TRUE(std::isnan(value_of(error_of_kind)));
    error_of_kind.update(at::ones({0}), at::ones({0}));
    EXPECT_TRUE(std::isnan(value_of(error_of_kind)));
  }
}

TEST(MomentsTest, RelativeErrorOfAConstantIsInfinite) {
  RelativeSquaredError error;
  error.update(at::tensor({1.0, 2.0}), at::ones({2}));
  EXPECT_EQ(value_of(error), std::numeric_limits<double>::infinity());
  error.reset();
  error.update(at::ones({2}), at::ones({2}));
  EXPECT_TRUE(std::isnan(value_of(error)));
}

TEST(MomentsTest, SmallErrorsKeepTheirDigits) {
  const at::Tensor target = wave(1000, 0).add(1e3);
  const at::Tensor preds = target.add(1e-9);
  RelativeSquaredError error(RelativeSquaredErrorOptions().squared(false));
  error.update(preds, target);
  const at::Tensor differences = preds.sub(target);
  const double expected =
      std::sqrt(differences.square().sum().item<double>() /
                target.sub(target.mean()).square().sum().item<double>());
  EXPECT_NEAR(value_of(error) / expected, 1, 1e-12);
}

template <class M>
void expect_same_with_a_graph(typename M::Options options) {
  const std::int64_t outputs = options.num_outputs();
  const auto shaped = [&](const at::Tensor& x) {
    return outputs == 1 ? x : x.reshape({-1, outputs});
  };
  const at::Tensor preds = shaped(wave(69'000, 0).add(10));
  const at::Tensor target = shaped(wave(69'000, 0.5).add(10));
  const at::Tensor weight = wave(69'000 / outputs, 1).add(1).to(at::kFloat);
  M metric(options);
  for (const bool weighted : {false, true}) {
    const at::Tensor w = weighted ? weight : at::Tensor();
    for (int i = 0; i < 2; ++i) {
      const at::Tensor plain = metric.forward(preds, target, w);
      const at::Tensor recorded =
          metric.forward(preds.clone().set_requires_grad(true), target, w);
      EXPECT_TRUE(recorded.requires_grad());
      EXPECT_TRUE(plain.allclose(recorded, 1e-11, 0)) << metric.repr();
    }
  }
}

TEST(MomentsTest, SameWithAndWithoutAGraph) {
  for (const std::int64_t outputs : {1, 3}) {
    expect_same_with_a_graph<PearsonCorrCoef>(outputs);
    expect_same_with_a_graph<ConcordanceCorrCoef>(outputs);
    expect_same_with_a_graph<R2Score>(outputs);
    expect_same_with_a_graph<ExplainedVariance>(outputs);
    expect_same_with_a_graph<RelativeSquaredError>(outputs);
    expect_same_with_a_graph<NormalizedRootMeanSquaredError>(
        NormalizedRootMeanSquaredErrorOptions(Normalization::kRange)
            .num_outputs(outputs));
  }
}

TEST(MomentsTest, ShareOneState) {
  const StateKey key = PearsonCorrCoef(2).state_key();
  EXPECT_EQ(ConcordanceCorrCoef(2).state_key(), key);
  EXPECT_EQ(R2Score(R2ScoreOptions(2).adjusted(1)).state_key(), key);
  EXPECT_EQ(ExplainedVariance(2).state_key(), key);
  EXPECT_EQ(RelativeSquaredError(2).state_key(), key);
  using Nrmse = NormalizedRootMeanSquaredError;
  const auto options = [](Normalization kind) {
    return NormalizedRootMeanSquaredErrorOptions(kind).num_outputs(2);
  };
  EXPECT_EQ(Nrmse(options(Normalization::kStd)).state_key(), key);
  EXPECT_NE(Nrmse(options(Normalization::kRange)).state_key(), key);
  EXPECT_NE(R2Score(3).state_key(), key);
}

TEST(MomentsTest, WorkTogetherInACollection) {
  MetricCollection metrics;
  metrics.add("r2", R2Score());
  metrics.add("pearson", PearsonCorrCoef());
  metrics.add("nrmse", NormalizedRootMeanSquaredError());
  const at::Tensor preds = wave(100, 0);
  const at::Tensor target = wave(100, 0.3);
  metrics.update(preds, target);
  R2Score alone;
  alone.update(preds, target);
  EXPECT_TRUE(metrics.compute()["r2"].equal(alone.compute()));
}

TEST(MomentsTest, PositionsOfSamplesAreSamples) {
  const at::Tensor preds = wave(24, 0);
  const at::Tensor target = wave(24, 0.3);
  const auto check = [&](auto flat) {
    const auto shaped = flat.clone();
    flat.update(preds, target);
    shaped->update(preds.reshape({4, 3, 2}), target.reshape({4, 3, 2}));
    EXPECT_TRUE(shaped->compute().value().equal(flat.compute()));
  };
  check(R2Score());
  check(PearsonCorrCoef());
  check(NormalizedRootMeanSquaredError());
}

TEST(MomentsTest, OneOutputIsOneColumn) {
  R2Score r2;
  EXPECT_THAT(
      refusal_of<c10::Error>([&] {
        r2.update(at::ones({4, 3}), at::ones({4, 3}));
      }),
      HasSubstr("expected preds and target of shape [N] or [N, 1], or of more "
                "than two dimensions, got [4, 3]: set num_outputs for several "
                "outputs, or flatten them"));
  r2.update(wave(4, 0).reshape({4, 1}), wave(4, 1).reshape({4, 1}),
            wave(4, 2).abs());
  r2.update(wave(4, 0).select(0, 1), wave(4, 1).select(0, 1));
  EXPECT_EQ(r2.state()["total"].item<std::int64_t>(), 5);
}

TEST(MomentsTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal_of<c10::Error>([] { R2Score r2(0); }),
              HasSubstr("R2Score: expected num_outputs of at least 1, got 0"));
  EXPECT_THAT(
      refusal_of<c10::Error>([] { R2Score r2(R2ScoreOptions().adjusted(-1)); }),
      HasSubstr("expected adjusted of at least 0, got -1"));
  EXPECT_THROW(ExplainedVariance(0), c10::ValueError);
  EXPECT_THROW(RelativeSquaredError(0), c10::ValueError);
  EXPECT_THROW(ConcordanceCorrCoef(0), c10::ValueError);
  EXPECT_THROW(NormalizedRootMeanSquaredError(
                   NormalizedRootMeanSquaredErrorOptions().num_outputs(0)),
               c10::ValueError);
  R2Score r2(2);
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                r2.update(at::ones({4, 2}), at::ones({4, 2}), at::ones({3}));
              }),
              HasSubstr("expected weight of [N], got [3]"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { r2.update(at::ones({2}), at::ones({2})); }),
      HasSubstr("of shape [N, 2], got [2]; one row is [1, 2]"));
}

TEST(MomentsTest, GradientsAreZeroWhereNothingCanBeExplained) {
  const auto expect_zero = [](auto metric, const at::Tensor& targets) {
    const at::Tensor preds = wave(targets.size(0), 0).requires_grad_();
    const at::Tensor target = targets.clone().requires_grad_();
    metric.forward(preds, target).backward();
    EXPECT_TRUE(preds.grad().eq(0).all().template item<bool>());
    EXPECT_TRUE(target.grad().eq(0).all().template item<bool>());
  };
  for (const std::int64_t rows : {1, 4}) {
    const at::Tensor constant = at::full({rows}, 0.1, at::kDouble);
    expect_zero(R2Score(), constant);
    expect_zero(R2Score(R2ScoreOptions().adjusted(1)), constant);
    expect_zero(ExplainedVariance(), constant);
    // Too few samples to adjust.
    expect_zero(R2Score(R2ScoreOptions().adjusted(3)), wave(rows, 1));
  }
}

TEST(MomentsTest, WeightsCountLikeRepeatedSamples) {
  const at::Tensor preds = wave(5, 0);
  const at::Tensor target = wave(5, 1);
  const at::Tensor weight = at::tensor({2, 0, 1, 3, 1});
  R2Score weighted, repeated;
  weighted.update(preds.narrow(0, 0, 2), target.narrow(0, 0, 2),
                  at::zeros({2}));
  weighted.update(preds, target, weight);
  repeated.update(preds.repeat_interleave(weight),
                  target.repeat_interleave(weight));
  EXPECT_NEAR(value_of(weighted), value_of(repeated), 1e-14);
}

TEST(MomentsTest, NanGoesByThePolicy) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 2.0, 3.0});
  const at::Tensor target = at::tensor({1.0, 7.0, 3.0, 2.0});
  R2Score passing;
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  R2Score ignoring({}, ignore);
  ignoring.update(preds, target);
  EXPECT_DOUBLE_EQ(value_of(ignoring), 0);
  const at::Tensor weight = at::tensor({1.0, 1.0, kNaN, 1.0});
  R2Score without(R2ScoreOptions(), ignore);
  without.update(preds, target, weight);
  EXPECT_EQ(without.state()["total"].item<std::int64_t>(), 2);
  R2Score refusing({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THROW(refusing.update(preds, target), c10::ValueError);
  EXPECT_THROW(refusing.update(target, target, weight), c10::ValueError);
}

}  // namespace
}  // namespace tally
