#include <ATen/ops/cat.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/regression/cosine_similarity.h"
#include "tally/metrics/regression/divergences.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/mean_squared_log_error.h"
#include "tally/metrics/regression/minkowski_distance.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/percentage_errors.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/metrics/regression/tweedie_deviance.h"

namespace tally {
namespace {

using torch::autograd::variable_list;

// More than one block of sums, and no whole number of vectors.
constexpr std::int64_t kMany = 70'003;

at::Tensor wave(std::int64_t count, double phase, at::ScalarType dtype) {
  return at::linspace(0, 500, count, at::kDouble)
      .add(phase)
      .sin()
      .add(1.5)
      .to(dtype)
      .requires_grad_();
}

variable_list gradients_of(const at::Tensor& value, const variable_list& inputs,
                           bool create_graph = false) {
  return torch::autograd::grad({value}, inputs, {}, create_graph, create_graph);
}

void expect_near(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const double scale = b.abs().max().item<double>();
  EXPECT_LE(a.sub(b).abs().max().item<double>(), tolerance * scale);
}

// With weights, gradients are those of ATen's operators over float64: with
// weights of 1 they have to be the same.
template <class M>
void expect_gradients_of_operators(const M& prototype,
                                   at::ScalarType dtype = at::kDouble) {
  const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-6;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, kMany}) {
    SCOPED_TRACE(count);
    const variable_list inputs{wave(count, 0, dtype), wave(count, 0.3, dtype)};
    M metric(prototype.options()), other(prototype.options());
    const at::Tensor value = metric.forward(inputs[0], inputs[1]);
    const at::Tensor expected =
        other.forward(inputs[0], inputs[1], at::ones({count}, dtype));
    EXPECT_NEAR(value.template item<double>(), expected.template item<double>(),
                1e-9);
    const variable_list found = gradients_of(value, inputs);
    const variable_list right = gradients_of(expected, inputs);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found[i].scalar_type(), dtype);
      expect_near(found[i], right[i], tolerance);
    }
    // Of one input alone.
    const at::Tensor target = inputs[1].detach();
    M alone(prototype.options());
    expect_near(gradients_of(alone.forward(inputs[0], target), {inputs[0]})[0],
                right[0], tolerance);
  }
}

template <class M>
void expect_gradients_of_operators_in_both(const M& prototype) {
  expect_gradients_of_operators(prototype);
  expect_gradients_of_operators(prototype, at::kFloat);
}

TEST(RegressionGradientsTest, OfErrorsAreThoseOfOperators) {
  expect_gradients_of_operators_in_both(MeanAbsoluteError());
  expect_gradients_of_operators_in_both(MeanSquaredError());
  expect_gradients_of_operators_in_both(
      MeanSquaredError(MeanSquaredErrorOptions().squared(false)));
  expect_gradients_of_operators_in_both(MeanSquaredLogError());
  expect_gradients_of_operators_in_both(LogCoshError());
  expect_gradients_of_operators_in_both(MinkowskiDistance(3));
  expect_gradients_of_operators_in_both(MinkowskiDistance(1));
  expect_gradients_of_operators_in_both(MinkowskiDistance(1.5));
  expect_gradients_of_operators_in_both(MeanAbsolutePercentageError());
  expect_gradients_of_operators_in_both(SymmetricMeanAbsolutePercentageError());
  expect_gradients_of_operators_in_both(WeightedMeanAbsolutePercentageError());
  for (const double power : {-0.5, 0.0, 1.0, 1.5, 2.0, 3.0}) {
    SCOPED_TRACE(power);
    expect_gradients_of_operators_in_both(TweedieDevianceScore(power));
  }
}

template <class M>
void expect_second_derivatives(const M& prototype) {
  const variable_list inputs{wave(40, 0, at::kDouble),
                             wave(40, 0.3, at::kDouble)};
  const auto second = [&](const at::Tensor& value) {
    const variable_list first = gradients_of(value, inputs, true);
    return gradients_of(first[0].square().sum().add(first[1].sum()), inputs);
  };
  M metric(prototype.options()), other(prototype.options());
  const variable_list found = second(metric.forward(inputs[0], inputs[1]));
  const variable_list expected =
      second(other.forward(inputs[0], inputs[1], at::ones({40}, at::kDouble)));
  for (std::size_t i = 0; i < 2; ++i) {
    expect_near(found[i], expected[i], 1e-10);
  }
}

TEST(RegressionGradientsTest, OfHigherOrderAreThoseOfOperators) {
  expect_second_derivatives(MeanSquaredError());
  expect_second_derivatives(LogCoshError());
  expect_second_derivatives(MeanSquaredLogError());
  expect_second_derivatives(PearsonCorrCoef());
  expect_second_derivatives(R2Score());
}

TEST(RegressionGradientsTest, OfMomentsAreThoseOfOperators) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const variable_list inputs{wave(kMany, 0, dtype), wave(kMany, 0.3, dtype)};
    PearsonCorrCoef metric, other;
    const variable_list found =
        gradients_of(metric.forward(inputs[0], inputs[1]), inputs);
    const variable_list expected = gradients_of(
        other.forward(inputs[0], inputs[1], at::ones({kMany}, dtype)), inputs);
    for (std::size_t i = 0; i < 2; ++i) {
      expect_near(found[i], expected[i], dtype == at::kDouble ? 1e-9 : 1e-5);
    }
  }
}

// Where a kernel does not hold, the formula's gradient is taken.
TEST(RegressionGradientsTest, AreThoseOfOperatorsBeyondTheKernels) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const double odd : {kInfinity, std::nan(""), 1e300}) {
    const at::Tensor preds =
        at::tensor({1.5, odd, 2.0}, at::kDouble).requires_grad_();
    const at::Tensor target = at::tensor({1.0, 2.0, 4.0}, at::kDouble);
    MeanAbsolutePercentageError metric, other;
    const at::Tensor found =
        gradients_of(metric.forward(preds, target), {preds})[0];
    const at::Tensor expected = gradients_of(
        other.forward(preds, target, at::ones({3}, at::kDouble)), {preds})[0];
    EXPECT_TRUE(found.equal(expected) || found.isnan().equal(expected.isnan()))
        << found << expected;
  }
}

// Against the formulas of their definition.
TEST(RegressionGradientsTest, OfRowsAreThoseOfOperators) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const double tolerance = dtype == at::kDouble ? 1e-11 : 1e-5;
    const auto rows = [&](double phase) {
      return wave(300 * 7, phase, dtype).detach().reshape({300, 7});
    };
    const variable_list inputs{rows(0).requires_grad_(),
                               rows(0.3).requires_grad_()};
    const at::Tensor a = inputs[0].to(at::kDouble),
                     b = inputs[1].to(at::kDouble);
    const at::Tensor p = a.div(a.sum(1, true)), q = b.div(b.sum(1, true));
    const at::Tensor m = p.add(q).div(2);
    const auto check = [&](const at::Tensor& value, const at::Tensor& right) {
      EXPECT_NEAR(value.item<double>(), right.item<double>(), 1e-6);
      const variable_list found = gradients_of(value, inputs);
      const variable_list expected =
          torch::autograd::grad({right}, inputs, {}, /*retain_graph=*/true);
      for (std::size_t i = 0; i < 2; ++i) {
        expect_near(found[i], expected[i], tolerance);
      }
    };
    KLDivergence kl;
    check(kl.forward(inputs[0], inputs[1]),
          p.mul(p.log().sub(q.log())).sum(1).mean());
    JensenShannonDivergence js;
    check(js.forward(inputs[0], inputs[1]),
          p.mul(p.log().sub(m.log()))
              .add(q.mul(q.log().sub(m.log())))
              .sum(1)
              .div(2)
              .mean());
    CosineSimilarity cosine(
        CosineSimilarityOptions().reduction(RowReduction::kMean));
    check(cosine.forward(inputs[0], inputs[1]),
          a.mul(b).sum(1).div(a.norm(2, 1).mul(b.norm(2, 1))).mean());
  }
}

}  // namespace
}  // namespace tally
