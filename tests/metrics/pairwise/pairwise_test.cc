#include "tally/metrics/pairwise/pairwise.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sum_order.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

using PairFunction = std::function<at::Tensor(
    const at::Tensor&, const at::Tensor&, const PairwiseOptions&)>;

const std::vector<std::pair<std::string, PairFunction>>& functions() {
  static const std::vector<std::pair<std::string, PairFunction>> all = {
      {"cosine_similarity", pairwise_cosine_similarity},
      {"linear_similarity", pairwise_linear_similarity},
      {"euclidean_distance", pairwise_euclidean_distance},
      {"manhattan_distance", pairwise_manhattan_distance},
      {"minkowski_distance",
       [](const at::Tensor& x, const at::Tensor& y,
          const PairwiseOptions& options) {
         return pairwise_minkowski_distance(x, y, 3, options);
       }},
  };
  return all;
}

const PairFunction& function_of(const std::string& name) {
  for (const auto& [known, function] : functions()) {
    if (known == name) return function;
  }
  throw std::invalid_argument(name);
}

PairwiseOptions options_of(const testkit::FixtureCase& one) {
  PairwiseOptions options;
  const std::string reduction = one.options.at("reduction");
  if (reduction == "mean") options.reduction(PairReduction::kMean);
  if (reduction == "sum") options.reduction(PairReduction::kSum);
  const std::string zero = one.options.at("zero_diagonal");
  if (zero != "none") options.zero_diagonal(zero == "true");
  return options;
}

TEST(PairwiseTest, AgreesWithReference) {
  for (const auto& one : testkit::read_fixture("Pairwise")) {
    SCOPED_TRACE(one.name);
    const testkit::Batch& inputs = one.batches.front();
    const at::Tensor x = inputs[0].tensor();
    const at::Tensor y = inputs.size() > 1 ? inputs[1].tensor() : at::Tensor();
    const at::Tensor value =
        function_of(one.options.at("function"))(x, y, options_of(one));
    const at::Tensor& expected = one.expected.at("");
    EXPECT_EQ(value.scalar_type(), at::kDouble);
    ASSERT_EQ(value.sizes(), expected.sizes());
    EXPECT_TRUE(value.allclose(expected, one.rtol, one.atol)) << value;
  }
}

TEST(PairwiseTest, PointsMayBeFarFromZero) {
  const at::Tensor near = at::tensor({1e6, 1e6 + 1e-4}, at::kDouble);
  const at::Tensor distances = pairwise_euclidean_distance(near.unsqueeze(1));
  EXPECT_NEAR(distances[0][1].item<double>(), 1e-4, 1e-9);
  const at::Tensor points = at::randn({20, 5}, at::kDouble);
  const at::Tensor moved = points.add(1e8);
  for (const auto& [name, function] : functions()) {
    if (name.find("distance") == name.npos) continue;
    // What was lost when the points moved is not the function's fault.
    const at::Tensor expected = function(moved.sub(1e8), {}, {});
    EXPECT_TRUE(function(moved, {}, {}).allclose(expected, 1e-13, 0)) << name;
    const at::Tensor floats = points.to(at::kFloat).add(1e4);
    EXPECT_TRUE(function(floats, {}, {})
                    .allclose(function(floats.to(at::kDouble).sub(1e4), {}, {})
                                  .to(at::kFloat),
                              1e-6, 0))
        << name;
  }
}

// Points around some centers, some of them equal.
at::Tensor wide_points(std::int64_t count, std::int64_t centers) {
  at::Tensor points = at::randn({count, 100}, at::kDouble);
  if (centers > 0) {
    const at::Tensor of = at::randint(0, centers, {count});
    points = at::randn({centers, 100}, at::kDouble)
                 .index_select(0, of)
                 .add_(points.mul_(1e-7));
  }
  points.narrow(0, 3, 2).copy_(points.narrow(0, 10, 2));
  return points;
}

TEST(PairwiseTest, ManyColumnsAreAsExact) {
  for (const std::int64_t centers : {0, 2, 40}) {
    for (const double offset : {0.0, 1e8}) {
      SCOPED_TRACE(centers);
      const at::Tensor moved = wide_points(60, centers).add(offset);
      const at::Tensor leaf = moved.clone().set_requires_grad(true);
      const auto options = PairwiseOptions().zero_diagonal(false);
      const at::Tensor value = pairwise_euclidean_distance(leaf, {}, options);
      const at::Tensor same = moved.clone().set_requires_grad(true);
      const at::Tensor expected =
          at::cdist(same, same, 2, /*compute_mode=*/2);  // by differences
      EXPECT_TRUE(value.allclose(expected, 1e-12, 0));
      const at::Tensor weight = at::randn({60, 60}, at::kDouble);
      value.mul(weight).sum().backward();
      expected.mul(weight).sum().backward();
      EXPECT_TRUE(leaf.grad().allclose(same.grad(), 1e-9, 1e-9));
    }
  }
}

TEST(PairwiseTest, ManyColumnsTakeInfinity) {
  at::Tensor x = at::randn({30, 80}, at::kDouble);
  x[4][7] = std::numeric_limits<double>::infinity();
  x[9][1] = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor distances = pairwise_euclidean_distance(x);
  EXPECT_TRUE(distances[4][3].isinf().item<bool>());
  EXPECT_TRUE(distances[9][3].isnan().item<bool>());
  EXPECT_TRUE(distances[2][3].isfinite().item<bool>());
}

TEST(PairwiseTest, GradientsAreThoseOfDifferences) {
  for (const auto& [name, function] : functions()) {
    for (const auto reduction :
         {PairReduction::kNone, PairReduction::kMean, PairReduction::kSum}) {
      for (const bool zero : {false, true}) {
        SCOPED_TRACE(name);
        const auto options =
            PairwiseOptions().reduction(reduction).zero_diagonal(zero);
        const at::Tensor x =
            at::randn({4, 3}, at::kDouble).set_requires_grad(true);
        const at::Tensor y =
            at::randn({5, 3}, at::kDouble).set_requires_grad(true);
        const at::Tensor value = function(x, y, options);
        const at::Tensor weight = at::randn(value.sizes(), at::kDouble);
        value.mul(weight).sum().backward();
        const auto loss = [&](const at::Tensor& a, const at::Tensor& b) {
          return function(a.detach(), b.detach(), options)
              .mul(weight)
              .sum()
              .item<double>();
        };
        constexpr double kStep = 1e-6;
        for (std::int64_t i = 0; i < x.numel(); ++i) {
          at::Tensor step = at::zeros({x.numel()}, at::kDouble);
          step[i] = kStep;
          step = step.reshape({4, 3});
          const double slope =
              (loss(x.add(step), y) - loss(x.sub(step), y)) / (2 * kStep);
          EXPECT_NEAR(x.grad().reshape(-1)[i].item<double>(), slope, 1e-7);
        }
        for (std::int64_t i = 0; i < y.numel(); ++i) {
          at::Tensor step = at::zeros({y.numel()}, at::kDouble);
          step[i] = kStep;
          step = step.reshape({5, 3});
          const double slope =
              (loss(x, y.add(step)) - loss(x, y.sub(step))) / (2 * kStep);
          EXPECT_NEAR(y.grad().reshape(-1)[i].item<double>(), slope, 1e-7);
        }
      }
    }
  }
}

TEST(PairwiseTest, GradientAtDistanceZeroIsZero) {
  for (const auto& [name, function] : functions()) {
    if (name.find("distance") == name.npos) continue;
    for (const bool zero : {false, true}) {
      const at::Tensor x =
          at::ones({3, 2}, at::kDouble).set_requires_grad(true);
      function(x, {}, PairwiseOptions().zero_diagonal(zero)).sum().backward();
      EXPECT_TRUE(x.grad().equal(at::zeros({3, 2}, at::kDouble))) << name;
    }
  }
}

TEST(PairwiseTest, ARowOfZerosIsSimilarToNothing) {
  const at::Tensor x =
      at::tensor({0.0, 0.0, 3.0, 4.0}, at::kDouble).reshape({2, 2});
  const at::Tensor leaf = x.clone().set_requires_grad(true);
  const at::Tensor value = pairwise_cosine_similarity(
      leaf, {}, PairwiseOptions().zero_diagonal(false));
  EXPECT_TRUE(value.allclose(
      at::tensor({0.0, 0.0, 0.0, 1.0}, at::kDouble).reshape({2, 2})));
  value.sum().backward();
  EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>()) << leaf.grad();
  EXPECT_TRUE(leaf.grad()[0].equal(at::zeros({2}, at::kDouble)));
}

TEST(PairwiseTest, CosineTakesAnyMagnitude) {
  const at::Tensor x =
      at::tensor({1e200, 2e200, 1e-200, 3e-200}, at::kDouble).reshape({2, 2});
  EXPECT_NEAR(pairwise_cosine_similarity(x)[0][1].item<double>(),
              7 / std::sqrt(50), 1e-15);
}

TEST(PairwiseTest, MeansCountTheDiagonal) {
  const at::Tensor x = at::tensor({0.0, 4.0}, at::kDouble).unsqueeze(1);
  const auto mean = PairwiseOptions().reduction(PairReduction::kMean);
  EXPECT_TRUE(pairwise_euclidean_distance(x, {}, mean)
                  .equal(at::tensor({2.0, 2.0}, at::kDouble)));
}

TEST(PairwiseTest, ManyTilesAreOne) {
  const at::Tensor x = at::randn({2500, 3});
  const at::Tensor y = at::randn({3100, 3});
  for (const auto& [name, function] : functions()) {
    const auto zeroed = PairwiseOptions().zero_diagonal(true);
    const at::Tensor all = function(x, y, zeroed);
    EXPECT_EQ(all.scalar_type(), at::kFloat);
    EXPECT_TRUE(all.diagonal().eq(0).all().item<bool>()) << name;
    const at::Tensor sums =
        function(x, y, PairwiseOptions(zeroed).reduction(PairReduction::kSum));
    EXPECT_TRUE(
        sums.allclose(all.to(at::kDouble).sum(1).to(at::kFloat), 1e-4, 1e-3))
        << name;
    const at::Tensor one =
        function(x.narrow(0, 2400, 1), y.narrow(0, 3000, 1), PairwiseOptions());
    EXPECT_TRUE(
        one.allclose(all.narrow(0, 2400, 1).narrow(1, 3000, 1), 1e-6, 1e-6))
        << name;
  }
}

TEST(PairwiseTest, DtypesAndShapes) {
  const at::Tensor whole = at::arange(6, at::kLong).reshape({3, 2});
  for (const auto& [name, function] : functions()) {
    EXPECT_EQ(function(whole, {}, {}).scalar_type(), at::kDouble) << name;
    EXPECT_EQ(function(whole.to(at::kHalf), {}, {}).scalar_type(), at::kHalf);
    EXPECT_EQ(function(whole.to(at::kBFloat16), whole.to(at::kFloat), {})
                  .scalar_type(),
              at::kFloat);
    EXPECT_EQ(function(at::ones({0, 2}), at::ones({4, 2}), {}).sizes(),
              at::IntArrayRef({0, 4}));
    const at::Tensor mean =
        function(at::ones({3, 2}), at::ones({0, 2}),
                 PairwiseOptions().reduction(PairReduction::kMean));
    EXPECT_TRUE(mean.isnan().all().item<bool>()) << name;
    EXPECT_EQ(function(at::ones({3, 0}), {}, {}).sizes(),
              at::IntArrayRef({3, 3}));
  }
}

TEST(PairwiseTest, InfiniteExponentIsTheLargest) {
  const at::Tensor x = at::tensor({0.0, 0.0, 3.0, -4.0}).reshape({2, 2});
  const at::Tensor value = pairwise_minkowski_distance(
      x, {}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(value[0][1].item<double>(), 4);
}

TEST(PairwiseTest, OrdersOfSumsOnlyRound) {
  const int before = at::get_num_threads();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
    const at::Tensor x = at::randn({70, 200}, dtype).set_requires_grad(true);
    const at::Tensor y = at::randn({60, 200}, dtype);
    for (const auto& [name, function] : functions()) {
      SCOPED_TRACE(name);
      for (const PairReduction reduction :
           {PairReduction::kNone, PairReduction::kMean}) {
        const auto evaluate = [&, &run = function] {
          const at::Tensor value =
              run(x, y, PairwiseOptions().reduction(reduction));
          return std::make_pair(value.detach(),
                                torch::autograd::grad({value.sum()}, {x})[0]);
        };
        const auto [value, gradient] = evaluate();
        for (const int threads : {1, 3}) {
          at::set_num_threads(threads);
          const testkit::SumOrder order(1);
          const auto [other, of_other] = evaluate();
          // Terms that cancel leave the rounding of the larger ones.
          const auto is_near = [tolerance = tolerance](const at::Tensor& a,
                                                       const at::Tensor& b) {
            const double scale = b.abs().max().item<double>();
            return a.allclose(b, tolerance, tolerance * scale);
          };
          EXPECT_TRUE(is_near(other, value));
          EXPECT_TRUE(is_near(of_other, gradient));
        }
        at::set_num_threads(before);
      }
    }
  }
}

TEST(PairwiseTest, BadInputsAreRefused) {
  const at::Tensor x = at::ones({3, 2});
  EXPECT_THAT(refusal_of([&] { pairwise_linear_similarity(at::ones({3})); }),
              HasSubstr("expected x of shape [N, D], got [3]"));
  EXPECT_THAT(
      refusal_of([&] {
        pairwise_euclidean_distance(x, at::ones({3, 4}));
      }),
      HasSubstr("expected y of shape [M, 2], with as many columns as x, got "
                "[3, 4]"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { pairwise_cosine_similarity(x.to(at::kComplexFloat)); }),
              HasSubstr("expected x of a real dtype"));
  EXPECT_THAT(refusal_of([&] { pairwise_minkowski_distance(x, {}, 0.5); }),
              HasSubstr("expected an exponent of at least 1, got 0.5"));
  EXPECT_THAT(refusal_of([&] { pairwise_manhattan_distance(at::Tensor()); }),
              HasSubstr("expected a tensor as x"));
}

TEST(PairwiseTest, SecondGradientsAreRefused) {
  const at::Tensor x = at::randn({3, 2}).set_requires_grad(true);
  const at::Tensor sum = pairwise_euclidean_distance(x).sum();
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { torch::autograd::grad({sum}, {x}, {}, true, true); }),
              HasSubstr("have no gradient of their own"));
}

}  // namespace
}  // namespace tally
