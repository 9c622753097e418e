#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
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
#include <limits>

#include "tally/metrics/classification/log_loss.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::refusal_of_update;
using testkit::with_gaps;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

MulticlassLogLossOptions logits(std::int64_t classes) {
  return MulticlassLogLossOptions(classes).input(ScoreKind::kLogits);
}
MulticlassLogLossOptions summed(MulticlassLogLossOptions options) {
  return options.normalize(false);
}

double loss_of(const MulticlassLogLossOptions& given, const at::Tensor& preds,
               const at::Tensor& target, const at::Tensor& weight = {},
               const MetricOptions& metric = {}) {
  MulticlassLogLoss loss(given, metric);
  loss.update(preds, target, weight);
  return loss.compute().item<double>();
}

// By the tensor operations that serve where a graph is recorded.
double forward_of(const MulticlassLogLossOptions& given,
                  const at::Tensor& preds, const at::Tensor& target,
                  const at::Tensor& weight = {},
                  const MetricOptions& metric = {}) {
  MulticlassLogLoss loss(given, metric);
  const at::Tensor value =
      loss.forward(preds.detach().clone().requires_grad_(), target, weight);
  EXPECT_TRUE(value.requires_grad());
  return value.item<double>();
}

MetricOptions with(NanPolicy policy) {
  return MetricOptions().nan_policy(policy);
}

TEST(MulticlassLogLossTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 2};
  // Some of their probabilities are clipped.
  options.skip_gradients = {"zero_probability", "zero_probability_float64"};
  testkit::check_metric<MulticlassLogLoss>("MulticlassLogLoss", options);
}

TEST(MulticlassLogLossTest, IsTheMeanSurprise) {
  MulticlassLogLoss loss(2);
  loss.update(at::tensor({0.5f, 0.5f}).view({1, 2}), at::tensor({1}));
  loss.update(at::tensor({0.25f, 0.75f}).view({1, 2}), at::tensor({0}));
  EXPECT_DOUBLE_EQ(loss.compute().item<double>(), 1.5 * std::log(2));
  EXPECT_EQ(loss.compute().scalar_type(), at::kDouble);
  EXPECT_EQ(loss.higher_is_better(), false);
  EXPECT_TRUE(loss.is_differentiable());
}

TEST(MulticlassLogLossTest, OfNothing) {
  MulticlassLogLoss mean(3);
  EXPECT_TRUE(mean.compute().isnan().item<bool>());
  mean.update(at::empty({0, 3}), at::empty({0}, at::kLong));
  EXPECT_TRUE(mean.compute().isnan().item<bool>());
  MulticlassLogLoss sum(summed(3));
  EXPECT_EQ(sum.compute().item<double>(), 0);
  sum.update(at::empty({0, 3, 2}), at::empty({0, 2}, at::kLong));
  EXPECT_EQ(sum.compute().item<double>(), 0);
}

TEST(MulticlassLogLossTest, TakesEveryDtypeAndStride) {
  const at::Tensor target = at::randint(0, 4, {30, 2}, at::kLong);
  // Exact in every floating-point dtype, and adding up to 1.
  const at::Tensor some = at::randint(1, 10, {30, 3, 2});
  const at::Tensor preds =
      at::cat({some, some.sum(1, /*keepdim=*/true).neg().add(32)}, 1).div(32);
  const at::Tensor weight = at::randint(0, 9, {30, 2}).to(at::kFloat);
  for (const auto& given :
       {MulticlassLogLossOptions(4), logits(4), summed(4), logits(4)}) {
    for (const at::Tensor& w : {at::Tensor(), weight}) {
      const double expected = loss_of(given, preds, target, w);
      const double near = 1e-6 * expected;
      EXPECT_NEAR(loss_of(given, preds.to(at::kDouble), target, w), expected,
                  near);
      EXPECT_NEAR(loss_of(given, with_gaps(preds), with_gaps(target), w),
                  expected, near);
      EXPECT_NEAR(forward_of(given, preds, target, w), expected, near);
      for (const auto dtype : {at::kHalf, at::kBFloat16}) {
        EXPECT_NEAR(loss_of(given, preds.to(dtype), target, w), expected, near);
      }
      for (const auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt}) {
        EXPECT_EQ(loss_of(given, preds, target.to(dtype), w), expected);
        EXPECT_NEAR(forward_of(given, preds, target.to(dtype), w), expected,
                    near);
      }
    }
    const double expected = loss_of(given, preds, target, weight);
    for (const auto dtype : {at::kDouble, at::kHalf, at::kLong, at::kByte}) {
      EXPECT_EQ(loss_of(given, preds, target, weight.to(dtype)), expected);
    }
  }
}

TEST(MulticlassLogLossTest, ClipsProbabilitiesByTheirDtype) {
  const at::Tensor target = at::tensor({1});
  for (const auto& [dtype, bits] :
       std::vector<std::pair<at::ScalarType, int>>{{at::kFloat, 23},
                                                   {at::kDouble, 52},
                                                   {at::kHalf, 10},
                                                   {at::kBFloat16, 7}}) {
    const at::Tensor preds = at::tensor({1.0f, 0.0f}).view({1, 2}).to(dtype);
    EXPECT_DOUBLE_EQ(loss_of(2, preds, target), bits * std::log(2));
    EXPECT_DOUBLE_EQ(loss_of(2, preds, target.sub(1)),
                     -std::log(1 - std::exp2(-bits)));
    EXPECT_DOUBLE_EQ(forward_of(2, preds, target), bits * std::log(2));
  }
}

TEST(MulticlassLogLossTest, ClippedProbabilitiesHaveNoGradient) {
  MulticlassLogLoss loss(2);
  const at::Tensor preds =
      at::tensor({1.0f, 0.0f, 0.5f, 0.5f}).view({2, 2}).requires_grad_();
  loss.forward(preds, at::tensor({1, 1})).backward();
  EXPECT_TRUE(
      preds.grad().equal(at::tensor({0.0f, 0.0f, 0.0f, -1.0f}).view({2, 2})));
}

TEST(MulticlassLogLossTest, LogitsAreNotClipped) {
  const at::Tensor preds = at::tensor({500.0f, -500.0f}).view({1, 2});
  EXPECT_DOUBLE_EQ(loss_of(logits(2), preds, at::tensor({1})), 1000);
  EXPECT_DOUBLE_EQ(loss_of(logits(2), preds, at::tensor({0})), 0);
  const at::Tensor masked = at::tensor({0.0f, -kInf, 0.0f}).view({1, 3});
  EXPECT_DOUBLE_EQ(loss_of(logits(3), masked, at::tensor({0})), std::log(2));
  EXPECT_EQ(loss_of(logits(3), masked, at::tensor({1})), kInf);
}

TEST(MulticlassLogLossTest, IgnoredSamplesTakeNoPartInTheGradient) {
  for (const auto& given : {MulticlassLogLossOptions(2), logits(2)}) {
    MulticlassLogLoss loss(summed(given).ignore_index(-1));
    const at::Tensor preds =
        at::tensor({kNaN, kInf, 0.5f, 0.5f}).view({2, 2}).requires_grad_();
    at::Tensor value = loss.forward(preds, at::tensor({-1, -1}));
    EXPECT_EQ(value.item<double>(), 0);
    value.backward();
    EXPECT_TRUE(preds.grad().equal(at::zeros({2, 2})));
    preds.mutable_grad().reset();
    value = loss.forward(preds, at::tensor({-1, 0}));
    EXPECT_DOUBLE_EQ(value.item<double>(), std::log(2));
    value.backward();
    EXPECT_TRUE(preds.grad().select(0, 0).equal(at::zeros({2})));
    EXPECT_LT(preds.grad().select(0, 1).select(0, 0).item<double>(), 0);
    EXPECT_DOUBLE_EQ(loss.compute().item<double>(), std::log(2));
  }
}

TEST(MulticlassLogLossTest, EmptyBatchesHaveAGraph) {
  for (const auto& given : {summed(3), summed(logits(3))}) {
    MulticlassLogLoss loss(given);
    const at::Tensor preds = at::empty({0, 3}).requires_grad_();
    const at::Tensor value = loss.forward(preds, at::empty({0}, at::kLong));
    EXPECT_EQ(value.item<double>(), 0);
    value.backward();
    EXPECT_EQ(preds.grad().sizes(), preds.sizes());
  }
}

TEST(MulticlassLogLossTest, RefusesWhatIsNoProbability) {
  const at::Tensor preds =
      at::tensor({0.5f, 0.5f, 2.0f, 0.5f, 1.5f, -0.5f}).view({3, 2});
  const at::Tensor target = at::tensor({0, 1, 1});
  for (const at::Tensor& scores : {preds, with_gaps(preds)}) {
    MulticlassLogLoss loss(2);
    EXPECT_THAT(refusal_of_update(loss, scores, target),
                AllOf(HasSubstr("expected probabilities in [0, 1] as preds, "
                                "got 2 at position 1"),
                      HasSubstr("MulticlassLogLoss")));
    EXPECT_GT(
        loss_of(2, scores, target, {}, MetricOptions().validate_args(false)),
        5);
  }
}

TEST(MulticlassLogLossTest, RefusesOtherTargets) {
  const at::Tensor preds = at::rand({3, 4}).softmax(1);
  for (const at::Tensor& scores : {preds, with_gaps(preds)}) {
    MulticlassLogLoss loss(4);
    EXPECT_THAT(
        refusal_of_update<c10::IndexError>(loss, scores, at::tensor({0, 4, 1})),
        HasSubstr("expected target in [0, 4), got 4 at position 1"));
    MulticlassLogLoss ignoring(MulticlassLogLossOptions(4).ignore_index(9));
    EXPECT_THAT(refusal_of_update<c10::IndexError>(ignoring, scores,
                                                   at::tensor({9, 0, -1})),
                HasSubstr("or ignore_index (9), got -1 at position 2"));
  }
}

TEST(MulticlassLogLossTest, RefusesOtherShapesAndDtypes) {
  MulticlassLogLoss loss(3);
  const at::Tensor preds = at::rand({2, 3});
  const at::Tensor target = at::tensor({0, 1});
  EXPECT_THAT(refusal_of_update(loss, at::rand({2, 4}), target),
              HasSubstr("expected preds [N, 3, ...] and target [N, ...], got "
                        "sizes [2, 4] and [2]"));
  EXPECT_THAT(refusal_of_update(loss, preds, target, at::rand({3})),
              HasSubstr("expected weight and target of the same shape, got "
                        "[3] and [2]"));
  EXPECT_THAT(refusal_of_update<c10::TypeError>(
                  loss, preds, target, at::rand({2}).to(at::kComplexFloat)),
              HasSubstr("expected weight of a real dtype"));
  EXPECT_THAT(refusal_of_update<c10::TypeError>(loss, target, target),
              HasSubstr("expected preds of a floating-point dtype"));
}

TEST(MulticlassLogLossTest, FollowsTheNanPolicy) {
  const at::Tensor scores =
      at::tensor({0.5f, 0.5f, kNaN, 0.5f, 0.5f, 0.5f, kNaN, kNaN}).view({4, 2});
  const at::Tensor target = at::tensor({0, 0, 1, -1});
  const at::Tensor weight = at::tensor({2.0f, 1.0f, kNaN, 1.0f});
  const at::Tensor plain_weight = at::tensor({2.0f, 1.0f, 1.0f, kNaN});
  for (const auto& given : {MulticlassLogLossOptions(2).ignore_index(-1),
                            logits(2).ignore_index(-1)}) {
    EXPECT_TRUE(std::isnan(loss_of(given, scores, target)));
    EXPECT_TRUE(std::isnan(forward_of(given, scores, target)));
    for (const at::Tensor& w : {at::Tensor(), weight, plain_weight}) {
      EXPECT_DOUBLE_EQ(
          loss_of(given, scores, target, w, with(NanPolicy::kIgnore)),
          std::log(2));
      EXPECT_DOUBLE_EQ(
          forward_of(given, scores, target, w, with(NanPolicy::kIgnore)),
          std::log(2));
    }
    for (const at::Tensor& preds : {scores, with_gaps(scores)}) {
      MulticlassLogLoss strict(given, with(NanPolicy::kError));
      EXPECT_THAT(
          refusal_of_update(strict, preds, target),
          HasSubstr("expected preds without NaN, got NaN at position 1"));
      EXPECT_THAT(refusal_of_update(strict, preds.slice(0, 2),
                                    target.slice(0, 2), weight.slice(0, 2)),
                  HasSubstr("expected weight without NaN, got NaN at "
                            "position 0"));
      strict.update(preds.slice(0, 0, 1), target.slice(0, 0, 1));
    }
  }
}

TEST(MulticlassLogLossTest, IgnoredNanTakesNoPartInTheGradient) {
  MulticlassLogLoss loss(logits(2), with(NanPolicy::kIgnore));
  const at::Tensor preds =
      at::tensor({kNaN, 1.0f, 0.0f, 0.0f}).view({2, 2}).requires_grad_();
  loss.forward(preds, at::tensor({0, 0})).backward();
  EXPECT_TRUE(
      preds.grad().equal(at::tensor({0.0f, 0.0f, -0.5f, 0.5f}).view({2, 2})));
}

TEST(MulticlassLogLossTest, SharesItsStateWhetherSummedOrNot) {
  EXPECT_EQ(MulticlassLogLoss(summed(3)).state_key(),
            MulticlassLogLoss(3).state_key());
  EXPECT_NE(MulticlassLogLoss(logits(3)).state_key(),
            MulticlassLogLoss(3).state_key());
}

TEST(MulticlassLogLossTest, ValidatesItsOptions) {
  EXPECT_THROW(MulticlassLogLoss(1), c10::ValueError);
}

// Rows that miss 1 by more than rounding does are noted, those that cannot be
// distributions refused; by loops and where a graph is recorded.
TEST(MulticlassLogLossTest, ChecksThatProbabilitiesAddUp) {
  const at::Tensor target = at::zeros({3}, at::kLong);
  const auto note = [&](at::ScalarType dtype, double sum, bool graph,
                        const MetricOptions& options = {}) {
    at::Tensor preds = at::full({3, 9}, 1 / 9.0, at::kDouble);
    preds.select(0, 1).mul_(sum);
    preds = preds.to(dtype).requires_grad_(graph);
    return MulticlassLogLoss(9, options).observe(preds, target).unnormalized;
  };
  for (const bool graph : {false, true}) {
    for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf}) {
      EXPECT_EQ(note(dtype, 1.0003, graph).count(), 0);
      EXPECT_EQ(note(dtype, 1.002, graph).count(), 1);
      EXPECT_EQ(note(dtype, 0.98, graph).first(), 1);
      EXPECT_EQ(note(dtype, 0.98, graph).rows(), 3);
    }
    EXPECT_EQ(note(at::kBFloat16, 1.002, graph).count(), 0);
    EXPECT_EQ(note(at::kBFloat16, 0.97, graph).count(), 1);
    EXPECT_EQ(
        note(at::kDouble, 1.5, graph, MetricOptions().validate_args(false))
            .count(),
        0);
    const at::Tensor ones =
        at::full({2, 3, 2}, 1, at::kFloat).requires_grad_(graph);
    MulticlassLogLoss loss(3);
    EXPECT_THAT(refusal_of_update(loss, ones, at::zeros({2, 2}, at::kLong)),
                HasSubstr("expected probabilities that add up to 1 over the "
                          "classes as preds, got a sum of 3 at position 0"));
  }
}

// A row is a sample, whatever its number of positions; what is ignored and NaN
// need not add up.
TEST(MulticlassLogLossTest, NotesSamples) {
  at::Tensor preds = at::full({2, 2, 3}, 0.5, at::kDouble);
  preds.select(0, 1).mul_(0.98);
  auto options = MulticlassLogLossOptions(2).ignore_index(-1);
  at::Tensor target = at::zeros({2, 3}, at::kLong);
  const auto counted = [&] {
    const Note note =
        MulticlassLogLoss(options).observe(preds, target).unnormalized;
    EXPECT_EQ(note.rows(), 2);
    return note.count();
  };
  EXPECT_EQ(counted(), 1);
  target.select(0, 1).fill_(-1);
  EXPECT_EQ(counted(), 0);
  target.zero_();
  preds.select(0, 1).fill_(kNaN);
  EXPECT_EQ(counted(), 0);
}

}  // namespace
}  // namespace tally
