#include "tally/metrics/classification/counts/multilabel_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/counts/element_counts.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/hamming_distance.h"
#include "tally/metrics/classification/jaccard_index.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/classification/negative_predictive_value.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/classification/specificity.h"
#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/collection.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/classification/counts_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using classification::BinaryRules;
using classification::MultilabelBatch;
using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kCounts = classification::kElementCounts;

template <class... M>
void check_all() {
  (testkit::check_counts<M>(/*has_input_option=*/true), ...);
}

TEST(MultilabelCountsTest, RatesPassTheHarness) {
  check_all<MultilabelPrecision, MultilabelRecall, MultilabelF1Score,
            MultilabelFBetaScore>();
}

TEST(MultilabelCountsTest, MoreRatesPassTheHarness) {
  check_all<MultilabelSpecificity, MultilabelNegativePredictiveValue,
            MultilabelJaccardIndex>();
}

TEST(MultilabelCountsTest, OthersPassTheHarness) {
  check_all<MultilabelAccuracy, MultilabelHammingDistance, MultilabelStatScores,
            MultilabelMatthewsCorrCoef, MultilabelConfusionMatrix>();
}

TEST(MultilabelCountsTest, AllShareOneState) {
  MetricCollection metrics;
  metrics.add("accuracy", MultilabelAccuracy(3));
  metrics.add("f1", MultilabelF1Score(
                        MultilabelF1ScoreOptions(3).average(Average::kNone)));
  metrics.add("matrix", MultilabelConfusionMatrix(3));
  metrics.add("mcc", MultilabelMatthewsCorrCoef(3));
  metrics.add(
      "samples",
      MultilabelRecall(MultilabelRecallOptions(3).average(Average::kSamples)));
  metrics.add("samples_f1",
              MultilabelF1Score(
                  MultilabelF1ScoreOptions(3).average(Average::kSamples)));
  EXPECT_THAT(metrics.groups(),
              ElementsAre(ElementsAre("accuracy", "f1", "matrix", "mcc"),
                          ElementsAre("samples", "samples_f1")));
}

TEST(MultilabelCountsTest, OptionsAreChecked) {
  EXPECT_THAT(refusal_of<c10::ValueError>([] { MultilabelAccuracy(0); }),
              HasSubstr("MultilabelAccuracy: expected num_labels of at least "
                        "1, got 0"));
  EXPECT_THAT(
      refusal_of<c10::ValueError>([] {
        MultilabelRecall(MultilabelRecallOptions(3)
                             .average(Average::kSamples)
                             .multidim_average(MultidimAverage::kSamplewise));
      }),
      HasSubstr("MultilabelRecall: expected multidim_average global with "
                "average samples, got samplewise"));
  EXPECT_EQ(MultilabelStatScores(2).repr(),
            "MultilabelStatScores(num_labels=2, threshold=0.5, "
            "input=probabilities, multidim_average=global, ignore_index=none, "
            "average=macro)");
}

void expect_same_counts(const BinaryRules& rules, const at::Tensor& preds,
                        const at::Tensor& target,
                        const at::Tensor& weight = {}) {
  const std::int64_t labels = target.size(1);
  const MultilabelBatch batch(rules, labels, preds, target, weight);
  if (weight.defined()) {
    at::Tensor sums = at::zeros({kCounts, labels}, at::kDouble);
    classification::sum_element_weights(batch, sums.mutable_data_ptr<double>());
    EXPECT_TRUE(testkit::same_bits(
        classification::count_elements_by_tensors(batch, false), sums));
    return;
  }
  for (const bool samplewise : {false, true}) {
    at::Tensor counts =
        samplewise ? at::zeros({target.size(0), kCounts, labels}, at::kLong)
                   : at::zeros({kCounts, labels}, at::kLong);
    classification::count_elements(batch, samplewise,
                                   counts.mutable_data_ptr<std::int64_t>());
    EXPECT_TRUE(testkit::same_bits(
        classification::count_elements_by_tensors(batch, samplewise), counts));
  }
  const at::Tensor rows =
      at::zeros({batch.samples() * batch.positions(), kCounts, 1}, at::kLong);
  classification::count_elements_of_positions(
      batch, rows.mutable_data_ptr<std::int64_t>());
  EXPECT_TRUE(testkit::same_bits(
      classification::count_positions_by_tensors(batch), rows));
}

TEST(MultilabelCountsTest, LoopsEqualTensorOperations) {
  for (const Sizes& shape : {Sizes{40, 5}, Sizes{6, 3, 9}, Sizes{0, 4},
                             Sizes{4, 1}, Sizes{3, 2, 0}, Sizes{2, 3, 2, 4}}) {
    const at::Tensor scores =
        at::rand(shape).masked_fill(at::rand(shape).lt(0.1), kNaN);
    const at::Tensor target = at::randint(-1, 2, shape, at::kLong);
    Sizes without_labels = shape;
    without_labels.erase(without_labels.begin() + 1);
    const at::Tensor weight =
        at::randint(0, 8, without_labels)
            .div(4)
            .masked_fill(at::rand(without_labels).lt(0.1), kNaN);
    for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
      const BinaryRules rules{0.4, ScoreKind::kProbabilities, -1, policy};
      expect_same_counts(rules, scores, target);
      expect_same_counts(rules, scores.to(at::kHalf), target.to(at::kChar));
      expect_same_counts(rules, scores, target, weight);
      expect_same_counts(rules, scores.gt(0.5), target.eq(1));
      expect_same_counts(rules, scores.gt(0.5).to(at::kLong), target, weight);
    }
  }
}

void expect_vectors_equal_tensors(const Sizes& shape) {
  const BinaryRules rules{0.4, ScoreKind::kProbabilities, std::nullopt, {}};
  const at::Tensor scores = at::rand(shape);
  const at::Tensor target = at::randint(0, 2, shape, at::kLong);
  expect_same_counts(rules, scores, target);
  for (const std::int64_t row : {std::int64_t{0}, shape[0] / 2, shape[0] - 1}) {
    const at::Tensor with_nan = scores.clone();
    with_nan[row][1] = kNaN;
    expect_same_counts(rules, with_nan, target);
    const at::Tensor bad = target.clone();
    bad[row][1] = 2;
    EXPECT_THAT(refusal_of<c10::IndexError>(
                    [&] { MultilabelAccuracy(shape[1]).update(scores, bad); }),
                HasSubstr(c10::str("got 2 at position ", row * shape[1] + 1)));
  }
}

TEST(MultilabelCountsTest, VectorsEqualTensorOperations) {
  testkit::for_each_vector_target([] {
    for (const Sizes& shape : {Sizes{500, 100}, Sizes{900, 11}, Sizes{70, 3}}) {
      expect_vectors_equal_tensors(shape);
    }
  });
}

TEST(MultilabelCountsTest, ThreadsEqualTensorOperations) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  expect_vectors_equal_tensors({3001, 100});
  at::set_num_threads(threads);
}

TEST(MultilabelCountsTest, NothingCountedLeavesTheAverages) {
  const at::Tensor target = at::tensor({1, -1, 0, -1}, at::kLong).view({2, 2});
  const at::Tensor preds = at::tensor({0.9, 0.1, 0.2, 0.3}).view({2, 2});
  const auto value = [&](Average average) {
    MultilabelAccuracy metric(
        MultilabelAccuracyOptions(2).average(average).ignore_index(-1));
    metric.update(preds, target);
    return metric.compute();
  };
  EXPECT_EQ(value(Average::kMacro).item<double>(), 1);
  EXPECT_EQ(value(Average::kSamples).item<double>(), 1);
  EXPECT_TRUE(testkit::near(value(Average::kNone), at::tensor({1.0, kNaN})));
  for (const auto average : {Average::kMicro, Average::kWeighted,
                             Average::kNone, Average::kSamples}) {
    MultilabelF1Score empty(MultilabelF1ScoreOptions(2).average(average));
    EXPECT_TRUE(empty.compute().isnan().all().item<bool>());
    empty.update(at::empty({0, 2}), at::empty({0, 2}, at::kLong));
    EXPECT_TRUE(empty.compute().isnan().all().item<bool>());
  }
}

TEST(MultilabelCountsTest, NanStaysWithItsLabel) {
  const at::Tensor preds = at::tensor({0.9, kNaN}).view({1, 2});
  const at::Tensor target = at::tensor({1, 1}, at::kLong).view({1, 2});
  for (const auto& [average, expected] :
       {std::pair(Average::kNone, at::tensor({1.0, kNaN})),
        std::pair(Average::kMacro, at::full({}, kNaN)),
        std::pair(Average::kSamples, at::full({}, kNaN))}) {
    MultilabelRecall metric(MultilabelRecallOptions(2).average(average));
    metric.update(preds, target);
    EXPECT_TRUE(testkit::near(metric.compute(), expected.to(at::kDouble)));
  }
}

template <class M>
void expect_weights_repeat_samples() {
  SCOPED_TRACE(M::kName);
  const auto options =
      typename M::Options(4).average(Average::kSamples).ignore_index(-1);
  const at::Tensor preds = at::rand({30, 4});
  const at::Tensor target = at::randint(-1, 2, {30, 4}, at::kLong);
  const at::Tensor times = at::randint(0, 4, {30}, at::kLong);
  M repeated(options);
  repeated.update(preds.repeat_interleave(times, 0),
                  target.repeat_interleave(times, 0));
  // Some with their weights, others as often as they are.
  M weighted(options);
  weighted.update(preds.narrow(0, 0, 20), target.narrow(0, 0, 20),
                  times.narrow(0, 0, 20));
  const at::Tensor rest = times.narrow(0, 20, 10);
  weighted.update(preds.narrow(0, 20, 10).repeat_interleave(rest, 0),
                  target.narrow(0, 20, 10).repeat_interleave(rest, 0));
  EXPECT_TRUE(
      testkit::near(weighted.compute(), repeated.compute(), {1e-12, 1e-12}));
}

TEST(MultilabelCountsTest, WeightsRepeatSamples) {
  expect_weights_repeat_samples<MultilabelAccuracy>();
  expect_weights_repeat_samples<MultilabelPrecision>();
  expect_weights_repeat_samples<MultilabelF1Score>();
  expect_weights_repeat_samples<MultilabelJaccardIndex>();
  expect_weights_repeat_samples<MultilabelStatScores>();
}

TEST(MultilabelCountsTest, NanWeightsOfSamples) {
  const auto options = MultilabelAccuracyOptions(2).average(Average::kSamples);
  const at::Tensor preds = at::tensor({0, 1, 1, 1}, at::kLong).view({2, 2});
  const at::Tensor target = at::tensor({0, 1, 0, 1}, at::kLong).view({2, 2});
  const auto value = [&](NanPolicy policy, const at::Tensor& weight) {
    MultilabelAccuracy metric(options, MetricOptions().nan_policy(policy));
    metric.update(preds, target, weight);
    return metric.compute().item<double>();
  };
  EXPECT_TRUE(
      std::isnan(value(NanPolicy::kPropagate, at::tensor({2.0, kNaN}))));
  EXPECT_EQ(value(NanPolicy::kIgnore, at::tensor({2.0, kNaN})), 1);
  EXPECT_EQ(value(NanPolicy::kIgnore, at::tensor({3.0, 1.0})), 0.875);
  EXPECT_TRUE(std::isnan(value(NanPolicy::kIgnore, at::zeros({2}))));
}

TEST(MultilabelCountsTest, RefusesInputs) {
  MultilabelRecall metric(3);
  const auto message = [](Metric& m, const at::Tensor& preds,
                          const at::Tensor& target,
                          const at::Tensor& weight = {}) {
    return refusal_of<c10::Error>([&] { m.update(preds, target, weight); });
  };
  const auto zeros = [](at::IntArrayRef sizes) {
    return at::zeros(sizes, at::kLong);
  };
  EXPECT_THAT(message(metric, at::rand({2, 4}), zeros({2, 4})),
              HasSubstr("expected preds and target of shape [N, 3, ...], got "
                        "[2, 4]"));
  EXPECT_THAT(message(metric, at::rand({3}), zeros({3})), HasSubstr("got [3]"));
  EXPECT_THAT(message(metric, at::rand({2, 3}), zeros({2, 3}).add(2)),
              HasSubstr("expected target in [0, 2), got 2 at position 0"));
  EXPECT_THAT(message(metric, at::rand({2, 3}), zeros({2, 3}), at::rand({3})),
              HasSubstr("expected weight of shape [2], got [3]"));
  MultilabelRecall samples(
      MultilabelRecallOptions(3).average(Average::kSamples),
      MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(message(samples, at::rand({2, 3}), zeros({2, 3}),
                      at::tensor({1.0, kNaN})),
              HasSubstr("expected weight without NaN, got NaN at position 1"));
  MultilabelRecall each(MultilabelRecallOptions(3).multidim_average(
      MultidimAverage::kSamplewise));
  EXPECT_THAT(message(each, at::rand({2, 3}), zeros({2, 3}), at::rand({2})),
              HasSubstr("expected no weight with multidim_average samplewise"));
  EXPECT_THAT(refusal_of<c10::ValueError>([&] {
                classification::check_multilabel_scores(at::rand({2, 2}),
                                                        zeros({2, 2}), 3);
              }),
              HasSubstr("of shape [N, 3, ...], got [2, 2]"));
}

}  // namespace
}  // namespace tally
