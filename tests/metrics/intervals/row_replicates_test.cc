// Replicates of means and errors, whose rows are read together where they can
// be, against the formula with the weights of each replicate.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_pinball_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/mean_squared_log_error.h"
#include "tally/metrics/resampling/replicate_weights.h"

namespace tally {
namespace {

constexpr std::int64_t kRows = 70;
constexpr std::int64_t kReplicates = 150;

at::Tensor wave(double factor) {
  return at::arange(kRows, at::kDouble).mul(factor).sin().abs().add(0.1);
}

at::Tensor ids() { return at::arange(kRows).mul(13).remainder(101); }

IntervalOptions options_of(IntervalMethod method) {
  return IntervalOptions().method(method).replicates(kReplicates).seed(3);
}

at::Tensor expected(IntervalMethod method, const at::Tensor& terms,
                    const at::Tensor& weight) {
  const ReplicateWeights weights(3,
                                 method == IntervalMethod::kPoisson
                                     ? WeightKind::kPoisson
                                     : WeightKind::kDoubleOrNothing,
                                 kReplicates);
  const at::Tensor drawn =
      weights(SampleIds(ids())).to(at::kDouble).mul(weight.unsqueeze(1));
  return drawn.t().matmul(terms).div(drawn.sum(0));
}

template <class... Inputs>
at::Tensor replicates_of(OwnedMetric metric, IntervalMethod method,
                         const Inputs&... inputs) {
  IntervalMetric rows(std::move(metric), options_of(method));
  for (const auto& [begin, count] :
       {std::pair(0, 1), std::pair(1, 40), std::pair(41, 29)}) {
    const auto part = [begin = begin, count = count](const at::Tensor& all) {
      return all.narrow(0, begin, count);
    };
    rows.update(SampleIds(part(ids())), part(inputs)...);
  }
  return rows.replicates().replicates.value();
}

TEST(RowReplicatesTest, AreThoseOfTheFormula) {
  const at::Tensor preds = wave(0.7), target = wave(1.9);
  const at::Tensor weight = wave(0.3).sub(0.1), ones = at::ones_like(weight);
  for (const auto method :
       {IntervalMethod::kPoisson, IntervalMethod::kDoubleOrNothing}) {
    const auto check = [&](OwnedMetric plain, OwnedMetric weighted,
                           const at::Tensor& terms) {
      EXPECT_TRUE(replicates_of(std::move(plain), method, preds, target)
                      .allclose(expected(method, terms, ones), 1e-12, 1e-14));
      EXPECT_TRUE(
          replicates_of(std::move(weighted), method, preds, target, weight)
              .allclose(expected(method, terms, weight), 1e-12, 1e-14));
    };
    const at::Tensor errors = preds.sub(target);
    check(MeanSquaredError(), MeanSquaredError(), errors.square());
    check(MeanAbsoluteError(), MeanAbsoluteError(), errors.abs());
    check(LogCoshError(), LogCoshError(), errors.cosh().log());
    check(MeanSquaredLogError(), MeanSquaredLogError(),
          preds.log1p().sub(target.log1p()).square());
    check(MeanPinballLoss(), MeanPinballLoss(), errors.abs().div(2));
    EXPECT_TRUE(replicates_of(MeanMetric(), method, preds)
                    .allclose(expected(method, preds, ones), 1e-12, 1e-14));
    EXPECT_TRUE(replicates_of(MeanMetric(), method, preds, weight)
                    .allclose(expected(method, preds, weight), 1e-12, 1e-14));
  }
}

TEST(RowReplicatesTest, AreTheSameForRowsOfOtherShapes) {
  const auto method = IntervalMethod::kPoisson;
  const at::Tensor preds = wave(0.7), target = wave(1.9);
  const at::Tensor plain =
      replicates_of(MeanSquaredError(), method, preds, target);
  EXPECT_TRUE(replicates_of(MeanSquaredError(), method, preds.unsqueeze(1),
                            target.unsqueeze(1))
                  .allclose(plain, 1e-12, 1e-14));
  // Two outputs.
  const at::Tensor both = replicates_of(
      MeanSquaredError(MeanSquaredErrorOptions().num_outputs(2)), method,
      at::stack({preds, target}, 1), at::stack({target, target.mul(2)}, 1));
  EXPECT_TRUE(both.select(1, 0).allclose(plain, 1e-12, 1e-14));
}

TEST(RowReplicatesTest, CountNanWhereItsRowDoes) {
  at::Tensor preds = wave(0.7);
  const at::Tensor target = wave(1.9);
  preds[5] = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor values = replicates_of(
      MeanSquaredError(), IntervalMethod::kPoisson, preds, target);
  const at::Tensor drawn = ReplicateWeights(
      3, WeightKind::kPoisson, kReplicates)(SampleIds(ids().narrow(0, 5, 1)));
  EXPECT_TRUE(values.isnan().equal(drawn[0].gt(0)));
  MetricOptions ignores;
  ignores.nan_policy(NanPolicy::kIgnore);
  EXPECT_FALSE(replicates_of(MeanSquaredError({}, ignores),
                             IntervalMethod::kPoisson, preds, target)
                   .isnan()
                   .any()
                   .item<bool>());
}

}  // namespace
}  // namespace tally
