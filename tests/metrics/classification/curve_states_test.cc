#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/collection.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::near;
using testkit::same_bits;
using testkit::with_gaps;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

MultilabelAUROCOptions labels(std::int64_t count) {
  return MultilabelAUROCOptions(count).average(Average::kNone);
}

MetricOptions with(NanPolicy policy) {
  return MetricOptions().nan_policy(policy);
}

at::Tensor areas(const MultilabelAUROCOptions& given, const at::Tensor& preds,
                 const at::Tensor& target, const MetricOptions& metric = {}) {
  MultilabelAUROC auroc(given, metric);
  auroc.update(preds, target);
  return auroc.compute();
}

template <class Error>
std::string refusal(const MultilabelAUROCOptions& given,
                    const at::Tensor& preds, const at::Tensor& target,
                    const MetricOptions& metric = {}) {
  MultilabelAUROC auroc(given, metric);
  return testkit::refusal_of_update<Error>(auroc, preds, target);
}

TEST(MultilabelCurveTest, TakesEachLabelByItself) {
  const at::Tensor preds = at::rand({50, 3, 2});
  const at::Tensor target = at::randint(0, 2, {50, 3, 2}, at::kLong);
  const at::Tensor values = areas(labels(3), preds, target);
  for (std::int64_t c = 0; c < 3; ++c) {
    BinaryAUROC one;
    one.update(preds.select(1, c), target.select(1, c));
    EXPECT_EQ(one.compute().item<double>(), values.select(0, c).item<double>());
  }
  BinaryAUROC all;
  all.update(preds, target);
  EXPECT_EQ(
      areas(labels(3).average(Average::kMicro), preds, target).item<double>(),
      all.compute().item<double>());
}

TEST(MultilabelCurveTest, TakesEveryDtypeAndStride) {
  const at::Tensor preds = at::randint(0, 33, {100, 3}).div(32);
  const at::Tensor target = at::randint(-1, 2, {100, 3}, at::kLong);
  for (const auto& given :
       {labels(3), labels(3).thresholds(10), labels(3).thresholds({0.25, 0.5}),
        labels(3).thresholds(10).input(ScoreKind::kLogits)}) {
    const auto ignoring = MultilabelAUROCOptions(given).ignore_index(-1);
    const at::Tensor expected = areas(ignoring, preds, target);
    EXPECT_TRUE(near(areas(ignoring, with_gaps(preds), with_gaps(target)),
                     expected, {1e-14, 0}));
    for (const auto dtype : {at::kDouble, at::kHalf, at::kBFloat16}) {
      EXPECT_TRUE(
          near(areas(ignoring, preds.to(dtype), target), expected, {1e-14, 0}));
    }
    const at::Tensor ones = target.eq(1);
    for (const auto dtype : {at::kBool, at::kByte, at::kInt}) {
      EXPECT_TRUE(same_bits(areas(given, preds, ones.to(dtype)),
                            areas(given, preds, ones.to(at::kLong))));
    }
  }
}

TEST(MultilabelCurveTest, BatchesNeedNotShareADtypeOfTargets) {
  MultilabelAUROC auroc(labels(2));
  auroc.update(at::rand({4, 2}), at::randint(0, 2, {4, 2}, at::kLong));
  auroc.update(at::rand({4, 2}), at::randint(0, 2, {4, 2}, at::kBool));
  auroc.update(at::rand({4, 2}, at::kHalf),
               at::randint(0, 2, {4, 2}, at::kInt));
  EXPECT_EQ(auroc.state()["target"].scalar_type(), at::kByte);
  EXPECT_EQ(auroc.state()["preds"].scalar_type(), at::kFloat);
}

TEST(MultilabelCurveTest, FollowsTheNanPolicyPositionByPosition) {
  const at::Tensor scores =
      at::tensor({0.9f, 0.1f, 0.2f, 0.7f, kNaN, 0.8f, kNaN, 0.3f}).view({4, 2});
  const at::Tensor target = at::tensor({1, 0, 0, 1, 1, 1, -1, 0}).view({4, 2});
  for (const at::Tensor& preds : {scores, with_gaps(scores)}) {
    for (const auto& given : {labels(2).ignore_index(-1),
                              labels(2).ignore_index(-1).thresholds(6)}) {
      EXPECT_TRUE(near(areas(given, preds, target),
                       at::tensor({std::nan(""), 1.0}, at::kDouble)));
      EXPECT_TRUE(areas(MultilabelAUROCOptions(given).average(Average::kMicro),
                        preds, target)
                      .isnan()
                      .item<bool>());
      EXPECT_TRUE(near(areas(given, preds, target, with(NanPolicy::kIgnore)),
                       at::tensor({1.0, 1.0}, at::kDouble)));
      EXPECT_THAT(
          refusal<c10::ValueError>(given, preds, target,
                                   with(NanPolicy::kError)),
          HasSubstr("expected preds without NaN, got NaN at position 4"));
    }
  }
}

TEST(MultilabelCurveTest, RefusesOtherInputs) {
  const at::Tensor preds = at::rand({2, 3});
  const at::Tensor target = at::zeros({2, 3}, at::kLong);
  EXPECT_THAT(refusal<c10::ValueError>(labels(4), preds, target),
              AllOf(HasSubstr("MultilabelAUROC"),
                    HasSubstr("expected preds and target [N, 4, ...], got "
                              "sizes [2, 3]")));
  EXPECT_THAT(refusal<c10::ValueError>(labels(3), at::rand({3}),
                                       at::zeros({3}, at::kLong)),
              HasSubstr("expected preds and target [N, 3, ...]"));
  EXPECT_THAT(refusal<c10::ValueError>(labels(3), preds, target.t()),
              HasSubstr("[2, 3]"));
  EXPECT_THAT(refusal<c10::TypeError>(labels(3), target, target),
              HasSubstr("expected preds of a floating-point dtype"));
  EXPECT_THAT(
      refusal<c10::TypeError>(labels(3), preds, preds.to(at::kComplexFloat)),
      HasSubstr("expected target of an integer dtype"));
  EXPECT_THAT(refusal<c10::TypeError>(labels(3), preds.to_sparse(), target),
              HasSubstr("preds"));
  for (const at::Tensor& scores : {preds, with_gaps(preds)}) {
    EXPECT_THAT(refusal<c10::IndexError>(labels(3), scores, target.add(3)),
                HasSubstr("expected target in [0, 2), got 3 at position 0"));
    EXPECT_THAT(refusal<c10::ValueError>(labels(3).thresholds(3),
                                         scores.add(1.5), target),
                HasSubstr("expected probabilities in [0, 1] as preds, got "));
  }
  EXPECT_THROW(MultilabelAUROC(0), c10::ValueError);
}

TEST(CurveStatesTest, SmallBatchesDoNotMakeLargeHistograms) {
  constexpr std::int64_t kClasses = 10;
  const auto given =
      MulticlassAUROCOptions(kClasses).thresholds(500).average(Average::kNone);
  const at::Tensor preds = at::rand({400, kClasses});
  const at::Tensor target = at::randint(0, kClasses, {400}, at::kLong);
  MulticlassAUROC whole(given);
  whole.update(preds, target);
  EXPECT_TRUE(whole.state()["histogram"].defined());
  MulticlassAUROC batches(given);
  MulticlassAUROC other(given);
  for (std::int64_t i = 0; i < 400; i += 8) {
    (i < 200 ? batches : other)
        .update(preds.narrow(0, i, 8), target.narrow(0, i, 8));
    const auto state = batches.state();
    EXPECT_LE(state["places"].defined() ? state["places"].numel() : 0,
              2 * kClasses * 502 / 8 + 8 * kClasses);
  }
  const auto observed =
      batches.observe(preds.narrow(0, 0, 8), target.narrow(0, 0, 8));
  EXPECT_FALSE(observed.unweighted.histogram.defined());
  EXPECT_EQ(observed.unweighted.places.size(), 8 * kClasses);
  MulticlassAUROC loaded(given);
  ASSERT_TRUE(loaded.deserialize(batches.serialize()).ok());
  loaded.merge_state(other);
  EXPECT_TRUE(same_bits(loaded.compute(), whole.compute()));
  batches.merge_state(other);
  EXPECT_TRUE(same_bits(batches.compute(), whole.compute()));
}

// A large batch, on several threads, counts what small ones do.
template <class M>
void expect_large_as_small(const typename M::Options& given,
                           const at::Tensor& preds, const at::Tensor& target,
                           const MetricOptions& metric = {}) {
  constexpr std::int64_t kSmall = 1500;
  const std::int64_t rows = preds.size(0);
  M small(given, metric);
  for (std::int64_t i = 0; i < rows; i += kSmall) {
    const std::int64_t count = std::min(kSmall, rows - i);
    small.update(preds.narrow(0, i, count), target.narrow(0, i, count));
  }
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    M large(given, metric);
    large.update(preds, target);
    for (const char* field : {"histogram", "preds", "target"}) {
      const at::Tensor expected = small.state()[field];
      ASSERT_EQ(large.state()[field].defined(), expected.defined());
      if (expected.defined()) {
        EXPECT_TRUE(same_bits(large.state()[field], expected)) << field;
      }
    }
    EXPECT_TRUE(same_bits(large.compute(), small.compute()));
  }
  at::set_num_threads(1);
}

TEST(CurveStatesTest, LargeBatchesCountAsSmallOnes) {
  constexpr std::int64_t kRows = 160'000;
  const at::Tensor scores = at::rand({kRows});
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  std::vector<double> edges;
  for (int i = 0; i < 60; ++i) edges.push_back(i * i / 3600.0);
  for (const Thresholds& thresholds :
       {Thresholds(), Thresholds(20), Thresholds(edges)}) {
    const auto given = BinaryAUROCOptions().thresholds(thresholds);
    for (const at::Tensor& preds : {scores, scores.to(at::kDouble)}) {
      expect_large_as_small<BinaryAUROC>(given, preds, target);
      expect_large_as_small<BinaryAUROC>(
          BinaryAUROCOptions(given).input(ScoreKind::kLogits),
          preds.logit().mul_(3), target);
    }
    at::Tensor holes = scores.clone();
    holes.narrow(0, kRows / 2, 9).fill_(kNaN);
    expect_large_as_small<BinaryAUROC>(
        BinaryAUROCOptions(given).ignore_index(1), holes, target.to(at::kByte),
        with(NanPolicy::kIgnore));
    expect_large_as_small<MultilabelAUROC>(
        labels(7).thresholds(thresholds).ignore_index(-1),
        at::rand({kRows / 7, 7}),
        at::randint(-1, 2, {kRows / 7, 7}, at::kLong));
    for (const ScoreKind input :
         {ScoreKind::kProbabilities, ScoreKind::kLogits}) {
      expect_large_as_small<MulticlassAUROC>(
          MulticlassAUROCOptions(11)
              .thresholds(thresholds)
              .input(input)
              .ignore_index(3),
          at::rand({kRows / 11, 11}),
          at::randint(0, 11, {kRows / 11}, at::kLong));
    }
  }
}

TEST(CurveStatesTest, LargeBatchesAreRefusedForTheirFirstPosition) {
  constexpr std::int64_t kRows = 200'000;
  const at::Tensor preds = at::rand({kRows});
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  const at::Tensor bad_target = target.clone();
  const at::Tensor bad_preds = preds.clone();
  for (const std::int64_t place : {70'001, 130'001, 190'001}) {
    bad_target.select(0, place).fill_(place);
    bad_preds.select(0, place).fill_(1.5);
  }
  at::set_num_threads(3);
  for (const auto& given : {labels(1), labels(1).thresholds(10)}) {
    EXPECT_THAT(refusal<c10::IndexError>(given, preds.unsqueeze(1),
                                         bad_target.unsqueeze(1)),
                HasSubstr("got 70001 at position 70001"));
  }
  for (const auto& given : {labels(1), labels(1).thresholds(10)}) {
    EXPECT_THAT(refusal<c10::ValueError>(given, bad_preds.unsqueeze(1),
                                         target.unsqueeze(1)),
                HasSubstr("1.5 at position 70001"));
  }
  MulticlassAUROC classes(2);
  try {
    classes.update(at::stack({preds, bad_preds}, 1), target);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("1.5 at position 70001"));
  }
  at::set_num_threads(1);
}

TEST(CurveStatesTest, PlacesOutsideOfTheHistogramAreRefused) {
  const auto given = MulticlassAUROCOptions(3).thresholds(500);
  const MulticlassAUROC auroc(given);
  auto state = auroc.observe(at::rand({2, 3}), at::tensor({0, 1}));
  ASSERT_EQ(state.unweighted.places.size(), 6);
  auto broken = state;
  broken.unweighted.places = Rows(at::tensor({0, 3012}, at::kInt));
  EXPECT_THROW(auroc.evaluate(broken), c10::ValueError);
  broken.unweighted.places = Rows(at::tensor({-1}, at::kInt));
  EXPECT_THROW(auroc.evaluate(broken), c10::ValueError);
  broken.unweighted.places = Rows(at::tensor({0}, at::kLong));
  EXPECT_THROW(auroc.evaluate(broken), c10::ValueError);
  broken = state;
  broken.columns = 0;
  EXPECT_THROW(auroc.evaluate(broken), c10::ValueError);
}

TEST(CurveStatesTest, MetricsOfACollectionShareOneState) {
  MetricCollection metrics;
  metrics.add("auroc", BinaryAUROC(BinaryAUROCOptions().max_fpr(0.5)));
  metrics.add("precision", BinaryAveragePrecision());
  metrics.add("roc", BinaryROC());
  metrics.update(at::rand({8}), at::randint(0, 2, {8}, at::kLong));
  const Results results = metrics.compute();
  EXPECT_EQ(results["roc.fpr"].numel(), 9);
  EXPECT_EQ(metrics.groups().size(), 1);
}

TEST(CurveStatesTest, StatesOfOtherDtypesGiveTheSame) {
  // Half is sorted by tensor operations, as scores on a GPU are.
  CurveState state;
  state.unweighted.preds = Rows(at::randn({40, 3}).to(at::kHalf));
  state.unweighted.target = Rows(at::randint(0, 3, {40}, at::kLong));
  CurveState plain = state;
  plain.unweighted.preds = Rows(state.unweighted.preds.tensor().to(at::kFloat));
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kNone}) {
    for (const ScoreKind input :
         {ScoreKind::kProbabilities, ScoreKind::kLogits}) {
      const MulticlassROC roc(
          MulticlassROCOptions(3).average(average).input(input));
      const RocCurve expected = roc.evaluate(plain);
      const RocCurve actual = roc.evaluate(state);
      EXPECT_TRUE(near(actual.fpr, expected.fpr, {1e-14, 0}));
      EXPECT_TRUE(near(actual.tpr, expected.tpr, {1e-14, 0}));
      EXPECT_TRUE(near(actual.thresholds, expected.thresholds, {1e-12, 0}));
    }
  }
}

}  // namespace
}  // namespace tally
