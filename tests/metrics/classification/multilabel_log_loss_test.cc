#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tally/metrics/classification/log_loss.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Options = MultilabelLogLossOptions;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

// The same values where no plain loop can read them.
at::Tensor strided(const at::Tensor& tensor) {
  return tensor.transpose(0, -1).contiguous().transpose(0, -1);
}

TEST(MultilabelLogLossTest, PassesTheHarness) {
  testkit::check_metric<MultilabelLogLoss>("MultilabelLogLoss");
}

TEST(MultilabelLogLossTest, LoopsEqualTensorOperations) {
  for (const ScoreKind input :
       {ScoreKind::kProbabilities, ScoreKind::kLogits}) {
    at::Tensor preds = at::rand({40, 3, 2});
    if (input == ScoreKind::kLogits) preds = preds.sub(0.5).mul(9);
    preds = preds.masked_fill(at::rand({40, 3, 2}).lt(0.1), kNaN);
    preds.select(1, 2).fill_(0.5);
    const at::Tensor target = at::randint(-1, 2, {40, 3, 2}, at::kLong);
    const at::Tensor weight =
        at::rand({40, 2}).masked_fill(at::rand({40, 2}).lt(0.1), kNaN);
    for (const at::Tensor& w : {at::Tensor(), weight}) {
      for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
        const auto options =
            Options(3).input(input).ignore_index(-1).average(Average::kNone);
        MultilabelLogLoss loop(options, MetricOptions().nan_policy(policy));
        MultilabelLogLoss tensors(options, MetricOptions().nan_policy(policy));
        loop.update(preds, target, w);
        tensors.update(strided(preds), target, w);
        EXPECT_TRUE(
            testkit::near(tensors.compute(), loop.compute(), {1e-12, 0}));
        EXPECT_TRUE(
            testkit::near(tensors.state(), loop.state(), {1e-12, 1e-14}));
        // NaN stays with its label, but that of a weight.
        EXPECT_EQ(loop.compute()[2].isnan().item<bool>(),
                  w.defined() && policy == NanPolicy::kPropagate);
      }
    }
  }
}

TEST(MultilabelLogLossTest, LabelsThatDoNotCountLeaveTheAverages) {
  const at::Tensor preds = at::tensor({0.5, 0.25, 0.5, 0.75}).view({2, 2});
  const at::Tensor target = labels({-1, 0, -1, 1}).view({2, 2});
  const double own = -std::log(0.75);
  const auto value = [&](Options options) {
    MultilabelLogLoss loss(options.ignore_index(-1));
    loss.update(preds, target);
    return loss.compute();
  };
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kWeighted}) {
    const auto options = Options(2).average(average);
    EXPECT_DOUBLE_EQ(value(options).item<double>(), own);
    EXPECT_DOUBLE_EQ(value(Options(options).normalize(false)).item<double>(),
                     2 * own);
    EXPECT_TRUE(MultilabelLogLoss(options).compute().isnan().item<bool>());
    EXPECT_EQ(MultilabelLogLoss(Options(options).normalize(false))
                  .compute()
                  .item<double>(),
              0);
  }
  EXPECT_TRUE(testkit::near(value(Options(2).average(Average::kNone)),
                            at::tensor({kNaN, own})));
  // No target is 1: all labels weigh the same.
  MultilabelLogLoss loss(Options(2).average(Average::kWeighted));
  loss.update(preds, at::zeros({2, 2}, at::kLong));
  EXPECT_DOUBLE_EQ(loss.compute().item<double>(),
                   -(2 * std::log(0.5) + std::log(0.75) + std::log(0.25)) / 4);
}

// NaN counts with a label's ones where the target is one.
TEST(MultilabelLogLossTest, NaNWeightsOfZerosAreNoPositives) {
  const at::Tensor preds = at::tensor({0.5, 0.25, 0.5, 0.75}).view({2, 2});
  const at::Tensor target = labels({0, 1, 1, 1}).view({2, 2});
  const at::Tensor weight = at::tensor({kNaN, 2.0});
  for (const at::Tensor& given : {preds, strided(preds)}) {
    MultilabelLogLoss loss(2);
    loss.update(given, target, weight);
    const at::Tensor sums = loss.state()["sums"];
    EXPECT_TRUE(testkit::near(sums[2], at::tensor({2.0, kNaN})));
  }
}

TEST(MultilabelLogLossTest, HasAGradient) {
  const at::Tensor logits = at::randn({6, 3}, at::kDouble);
  const at::Tensor target = at::randint(0, 2, {6, 3}, at::kLong);
  at::Tensor leaf = logits.clone().set_requires_grad(true);
  at::Tensor weight = at::rand({6}, at::kDouble).set_requires_grad(true);
  MultilabelLogLoss loss(Options(3).input(ScoreKind::kLogits));
  loss.forward(leaf, target, weight).backward();
  const at::Tensor w = weight.detach();
  EXPECT_TRUE(testkit::near(
      leaf.grad(),
      logits.sigmoid().sub(target).mul(w.unsqueeze(1)).div(w.sum().mul(3)),
      {1e-12, 1e-15}));
  EXPECT_TRUE(weight.grad().defined());
  EXPECT_FALSE(loss.compute().requires_grad());
}

TEST(MultilabelLogLossTest, OptionsAreChecked) {
  try {
    MultilabelLogLoss loss(0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("MultilabelLogLoss: expected num_labels of at least "
                          "1, got 0"));
  }
  EXPECT_EQ(MultilabelLogLoss(3).repr(),
            "MultilabelLogLoss(num_labels=3, input=probabilities, "
            "average=macro, normalize=true, ignore_index=none)");
}

// By the plain loop and by tensor operations.
void expect_refused(std::int64_t num_labels, const at::Tensor& preds,
                    const at::Tensor& target, const at::Tensor& weight,
                    const std::string& message) {
  for (const at::Tensor& given : {preds, strided(preds)}) {
    MultilabelLogLoss loss(num_labels,
                           MetricOptions().nan_policy(NanPolicy::kError));
    try {
      loss.update(given, target, weight);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const c10::Error& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  AllOf(HasSubstr("MultilabelLogLoss"), HasSubstr(message)));
    }
    EXPECT_EQ(loss.update_count(), 0);
  }
}

TEST(MultilabelLogLossTest, RefusesValues) {
  const at::Tensor bad = at::tensor({0.5, 0.5, 1.5, 0.5}).view({2, 2});
  const at::Tensor nan = at::tensor({0.5, 0.5, 0.5, kNaN}).view({2, 2});
  const at::Tensor table = at::zeros({2, 2}, at::kLong);
  expect_refused(
      2, bad, table, {},
      "expected probabilities in [0, 1] as preds, got 1.5 at position 2");
  expect_refused(2, nan, table, {},
                 "expected preds without NaN, got NaN at position 3");
  expect_refused(2, at::rand({2, 2}), table, at::tensor({0.5, kNaN}),
                 "expected weight without NaN, got NaN at position 1");
  expect_refused(2, at::rand({2, 2}), labels({0, 0, 0, 2}).view({2, 2}), {},
                 "expected target in [0, 2), got 2 at position 3");
  expect_refused(3, at::rand({2, 2}), table, {},
                 "expected preds and target of shape [N, 3");
  expect_refused(2, at::rand({2, 2}), table, table,
                 "expected weight and target[:, 0] of the "
                 "same shape, got [2, 2] and [2]");
}

}  // namespace
}  // namespace tally
