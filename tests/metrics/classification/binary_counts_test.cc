#include "tally/metrics/classification/counts/binary_counts.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/confusion_matrix.h"
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

using classification::BinaryBatch;
using classification::BinaryRules;
using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

template <class... M>
void check_all() {
  (testkit::check_counts<M>(/*has_input_option=*/true), ...);
}

TEST(BinaryCountsTest, RatesPassTheHarness) {
  check_all<BinaryPrecision, BinaryRecall, BinaryF1Score, BinaryFBetaScore,
            BinarySpecificity, BinaryNegativePredictiveValue,
            BinaryJaccardIndex>();
}

TEST(BinaryCountsTest, OthersPassTheHarness) {
  check_all<BinaryAccuracy, BinaryHammingDistance, BinaryStatScores,
            BinaryMatthewsCorrCoef, BinaryCohenKappa, BinaryBalancedAccuracy,
            BinaryConfusionMatrix>();
}

TEST(BinaryCountsTest, AllShareOneState) {
  MetricCollection metrics;
  metrics.add("accuracy", BinaryAccuracy());
  metrics.add("precision",
              BinaryPrecision(BinaryPrecisionOptions().zero_division(1)));
  metrics.add("f2", BinaryFBetaScore(2.0));
  metrics.add("kappa", BinaryCohenKappa());
  metrics.add("matrix",
              BinaryConfusionMatrix(
                  BinaryConfusionMatrixOptions().normalize(Normalize::kTrue)));
  metrics.add("balanced", BinaryBalancedAccuracy());
  metrics.add("strict", BinaryAccuracy(BinaryAccuracyOptions().threshold(0.9)));
  EXPECT_THAT(metrics.groups(),
              ElementsAre(ElementsAre("accuracy", "precision", "f2", "kappa",
                                      "matrix", "balanced"),
                          ElementsAre("strict")));
}

// Errors of an autoencoder, of which more than 12.5 are anomalies: 2 of the 3
// that are found are some, of 4.
TEST(BinaryCountsTest, ScoresOfAnyScaleHaveAThresholdOnIt) {
  const at::Tensor errors =
      at::tensor({3.0, 12.5, 80.0, 13.0, 400.0, 0.1, -7.0}, at::kDouble);
  const at::Tensor target = labels({1, 0, 1, 0, 1, 0, 1});
  const auto options =
      BinaryF1ScoreOptions().input(ScoreKind::kScores).threshold(12.5);
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf}) {
    BinaryF1Score f1(options);
    f1.update(errors.to(dtype), target);
    EXPECT_NEAR(f1.compute().item<double>(), 4.0 / 7, 1e-6);
  }
  MultilabelRecall recall(
      MultilabelRecallOptions(1).input(ScoreKind::kScores).threshold(12.5));
  recall.update(errors.unsqueeze(1), target.unsqueeze(1));
  EXPECT_EQ(recall.compute().item<double>(), 0.5);
}

TEST(BinaryCountsTest, ScoresOfAnyScaleNeedAThreshold) {
  const auto scores = [](auto options) {
    return options.input(ScoreKind::kScores);
  };
  const auto message = [](const auto& make) {
    return refusal_of<c10::ValueError>(make);
  };
  const char* const expected =
      ": expected a threshold for scores of any kind (input scores), on their "
      "scale, got none";
  EXPECT_EQ(message([&] { BinaryF1Score f1(scores(BinaryF1ScoreOptions())); }),
            std::string("BinaryF1Score") + expected);
  EXPECT_EQ(message([&] {
              MultilabelRecall recall(scores(MultilabelRecallOptions(2)));
            }),
            std::string("MultilabelRecall") + expected);
  EXPECT_THAT(
      message([&] {
        BinaryF1Score f1(scores(BinaryF1ScoreOptions().threshold(kNaN)));
      }),
      HasSubstr("BinaryF1Score: expected a finite threshold, got nan"));
  // One that equals the default is given.
  BinaryAccuracy half(scores(BinaryAccuracyOptions().threshold(0.5)));
  half.update(at::tensor({0.4, 12.0}), labels({0, 1}));
  EXPECT_EQ(half.compute().item<double>(), 1);
  EXPECT_EQ(BinaryAccuracy().repr(),
            BinaryAccuracy(BinaryAccuracyOptions().threshold(0.5)).repr());
}

TEST(BinaryCountsTest, OptionsAreChecked) {
  const auto message = [](const auto& make) {
    return refusal_of<c10::ValueError>(make);
  };
  EXPECT_THAT(
      message([] { BinaryAccuracy(BinaryAccuracyOptions().threshold(1.5)); }),
      HasSubstr("BinaryAccuracy: expected threshold in [0, 1], got "
                "1.5 (input is ScoreKind::kScores for scores of any kind)"));
  EXPECT_THAT(
      message([] { BinaryRecall(BinaryRecallOptions().zero_division(0.5)); }),
      HasSubstr("expected zero_division 0, 1 or nan, got 0.5"));
  EXPECT_THAT(message([] { BinaryFBetaScore(-1.0); }),
              HasSubstr("expected beta of at least 0, got -1"));
}

TEST(BinaryCountsTest, HasNames) {
  const BinaryFBetaScore metric(
      BinaryFBetaScoreOptions(0.5).threshold(0.25).ignore_index(-1));
  EXPECT_EQ(metric.repr(),
            "BinaryFBetaScore(threshold=0.25, input=probabilities, "
            "multidim_average=global, ignore_index=-1, beta=0.5, "
            "zero_division=0)");
  EXPECT_EQ(BinaryHammingDistance().higher_is_better(), false);
  EXPECT_EQ(BinarySpecificity().higher_is_better(), true);
  EXPECT_EQ(BinaryStatScores().higher_is_better(), std::nullopt);
}

TEST(BinaryCountsTest, NothingCountedIsNaN) {
  BinaryPrecision metric(
      BinaryPrecisionOptions().ignore_index(-1).zero_division(1));
  const auto is_nan = [&] { return metric.compute().isnan().item<bool>(); };
  EXPECT_TRUE(is_nan());
  metric.update(at::empty({0}), at::empty({0}, at::kLong));
  metric.update(at::rand({2}), labels({-1, -1}));
  EXPECT_TRUE(is_nan());
  EXPECT_TRUE(BinaryStatScores().compute().eq(0).all().item<bool>());
  EXPECT_EQ(BinaryConfusionMatrix().compute().scalar_type(), at::kLong);
  BinaryAccuracy each(
      BinaryAccuracyOptions().multidim_average(MultidimAverage::kSamplewise));
  EXPECT_EQ(each.compute().sizes(), at::IntArrayRef({0}));
  each.update(at::empty({2, 0}), at::empty({2, 0}, at::kLong));
  EXPECT_TRUE(testkit::near(each.compute(), at::full({2}, kNaN)));
}

TEST(BinaryCountsTest, ThresholdIsRoundedToTheScores) {
  BinaryRecall metric(BinaryRecallOptions().threshold(0.3));
  const at::Tensor target = at::ones({1}, at::kLong);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    metric.update(at::full({1}, 0.3, dtype), target);
  }
  EXPECT_EQ(metric.compute().item<double>(), 0);
  BinaryRecall all(
      BinaryRecallOptions().threshold(0).input(ScoreKind::kLogits));
  all.update(at::full({1}, -1e30), target);
  EXPECT_EQ(all.compute().item<double>(), 1);
}

// The counts of a batch by the plain loops, which those by tensor operations
// must equal.
void expect_same_counts(const BinaryRules& rules, const at::Tensor& preds,
                        const at::Tensor& target,
                        const at::Tensor& weight = {}) {
  const BinaryBatch batch(rules, preds, target, weight);
  if (weight.defined()) {
    at::Tensor sums =
        at::zeros({classification::kElementCounts, 1}, at::kDouble);
    classification::sum_element_weights(batch, sums.mutable_data_ptr<double>());
    EXPECT_TRUE(testkit::same_bits(
        classification::count_elements_by_tensors(batch, false), sums));
    return;
  }
  for (const bool samplewise : {false, true}) {
    at::Tensor counts =
        samplewise
            ? at::zeros({target.size(0), classification::kElementCounts, 1},
                        at::kLong)
            : at::zeros({classification::kElementCounts, 1}, at::kLong);
    classification::count_elements(batch, samplewise,
                                   counts.mutable_data_ptr<std::int64_t>());
    EXPECT_TRUE(testkit::same_bits(
        classification::count_elements_by_tensors(batch, samplewise), counts));
  }
}

TEST(BinaryCountsTest, LoopsEqualTensorOperations) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{100}, {7, 33}, {0}, {3, 0}, {2, 3, 4}}) {
    const at::Tensor scores =
        at::rand(shape).masked_fill(at::rand(shape).lt(0.1), kNaN);
    const at::Tensor target = at::randint(-1, 2, shape, at::kLong);
    const at::Tensor weight = at::randint(0, 8, shape)
                                  .div(4)
                                  .masked_fill(at::rand(shape).lt(0.1), kNaN);
    for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
      const BinaryRules rules{0.4, ScoreKind::kProbabilities, -1, policy};
      for (const auto dtype :
           {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
        expect_same_counts(rules, scores.to(dtype), target);
        expect_same_counts(rules, scores.to(dtype), target.to(at::kInt));
      }
      expect_same_counts(rules, scores, target, weight);
      const BinaryRules logits{0.4, ScoreKind::kLogits, -1, policy};
      expect_same_counts(logits, scores.mul(9).sub(5), target);
      for (const auto dtype : {at::kBool, at::kByte, at::kLong, at::kShort}) {
        const at::Tensor predicted = scores.gt(0.5).to(dtype);
        expect_same_counts(rules, predicted, target);
        expect_same_counts(rules, predicted, target.eq(1));
        expect_same_counts(rules, predicted, target.eq(1), weight);
      }
    }
  }
}

void expect_vectors_equal_tensors() {
  const at::Tensor scores = at::rand({200'003});
  const at::Tensor target = at::randint(0, 2, {200'003}, at::kLong);
  const BinaryRules rules{0.4, ScoreKind::kProbabilities, std::nullopt, {}};
  const BinaryRules logits{0.4, ScoreKind::kLogits, std::nullopt, {}};
  for (const std::int64_t size : {1, 7, 8, 100, 65'600, 200'003}) {
    const auto first = [=](const at::Tensor& t) {
      return t.narrow(0, 0, size);
    };
    expect_same_counts(rules, first(scores), first(target));
    expect_same_counts(logits, first(scores).mul(9).sub(4), first(target));
    for (const std::int64_t place : {std::int64_t{0}, size - 1}) {
      const at::Tensor with_nan = first(scores).clone();
      with_nan[place] = kNaN;
      expect_same_counts(rules, with_nan, first(target));
      const auto message = [&](const at::Tensor& p, const at::Tensor& t) {
        return refusal_of<c10::Error>([&] { BinaryAccuracy().update(p, t); });
      };
      const std::string position = c10::str("at position ", place);
      const at::Tensor bad_target = first(target).clone();
      bad_target[place] = 256;
      EXPECT_THAT(message(first(scores), bad_target),
                  AllOf(HasSubstr("got 256"), HasSubstr(position)));
      const at::Tensor bad_score = first(scores).clone();
      bad_score[place] = 1.5;
      EXPECT_THAT(message(bad_score, first(target)),
                  AllOf(HasSubstr("got 1.5"), HasSubstr(position)));
    }
  }
}

TEST(BinaryCountsTest, VectorsEqualTensorOperations) {
  testkit::for_each_vector_target(expect_vectors_equal_tensors);
}

TEST(BinaryCountsTest, RefusesValues) {
  const auto message = [](const MetricOptions& options, const at::Tensor& preds,
                          const at::Tensor& target,
                          const at::Tensor& weight = {}) {
    BinaryPrecision metric(BinaryPrecisionOptions().ignore_index(-1), options);
    metric.update(labels({1, 0}), labels({1, 1}));
    const Results before = metric.state();
    const std::string text =
        refusal_of<c10::Error>([&] { metric.update(preds, target, weight); });
    EXPECT_TRUE(testkit::same_bits(metric.state(), before));
    const BinaryRules rules{0.5,
                            ScoreKind::kProbabilities,
                            -1,
                            options.nan_policy(),
                            options.validate_args(),
                            /*takes_scores=*/true};
    EXPECT_THAT(text, HasSubstr(refusal_of<c10::Error>([&] {
                  classification::count_elements_by_tensors(
                      BinaryBatch(rules, preds, target, weight), false);
                })));
    return text;
  };
  const MetricOptions plain;
  const MetricOptions strict = MetricOptions().nan_policy(NanPolicy::kError);
  EXPECT_THAT(message(plain, at::rand({3}), labels({0, -1, 2})),
              AllOf(HasSubstr("BinaryPrecision"),
                    HasSubstr("expected target in [0, 2) or ignore_index (-1), "
                              "got 2 at position 2")));
  EXPECT_THAT(message(plain, labels({0, 3}), labels({0, 1})),
              HasSubstr("expected preds in [0, 2), got 3 at position 1"));
  EXPECT_THAT(message(plain, at::full({2}, 1.5), labels({-1, 1})),
              HasSubstr("expected probabilities in [0, 1] as preds, got 1.5 "
                        "at position 1 (input is ScoreKind::kLogits for "
                        "logits, ScoreKind::kScores for scores of any kind)"));
  EXPECT_THAT(message(strict, at::full({2}, kNaN), labels({-1, 1})),
              HasSubstr("expected preds without NaN, got NaN at position 1"));
  EXPECT_THAT(message(strict, at::rand({1}), labels({1}), at::full({1}, kNaN)),
              HasSubstr("expected weight without NaN, got NaN at position 0"));
  BinaryPrecision unchecked({}, MetricOptions().validate_args(false));
  unchecked.update(at::full({2}, 1.5), labels({0, 1}));
  EXPECT_EQ(unchecked.compute().item<double>(), 0.5);
}

TEST(BinaryCountsTest, RefusesInputs) {
  BinaryAccuracy metric;
  const at::Tensor target = labels({0, 1});
  const auto value_error = [&](const at::Tensor& p, const at::Tensor& t,
                               const at::Tensor& w = {}) {
    return refusal_of<c10::ValueError>([&] { metric.update(p, t, w); });
  };
  EXPECT_THAT(value_error({}, target), HasSubstr("a tensor as preds"));
  EXPECT_THAT(value_error(at::rand({2}), {}), HasSubstr("a tensor as target"));
  EXPECT_THAT(value_error(at::rand({2, 1}), target),
              HasSubstr("expected preds and target of the same shape, got "
                        "[2, 1] and [2]"));
  EXPECT_THAT(value_error(at::rand({}), at::zeros({}, at::kLong)),
              HasSubstr("expected target of shape [N, ...]"));
  EXPECT_THAT(value_error(at::rand({2}), target, at::rand({3})),
              HasSubstr("expected weight of shape [2], got [3]"));
  EXPECT_THAT(refusal_of<c10::TypeError>([&] {
                metric.update(at::rand({2}), at::ones({2}, at::kComplexFloat));
              }),
              HasSubstr("in target, got ComplexFloat"));
  EXPECT_THAT(refusal_of<c10::TypeError>([&] {
                metric.update(at::zeros({2}, at::kComplexFloat), target);
              }),
              HasSubstr("in preds, got ComplexFloat"));
  BinaryAccuracy each(
      BinaryAccuracyOptions().multidim_average(MultidimAverage::kSamplewise));
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [&] { each.update(at::rand({2}), target, at::rand({2})); }),
              HasSubstr("expected no weight with multidim_average samplewise"));
}

TEST(BinaryCountsTest, NanPolicies) {
  const at::Tensor preds = at::tensor({0.9, kNaN, 0.2});
  const at::Tensor target = labels({1, 1, 1});
  BinaryRecall propagate;
  propagate.update(preds, target);
  EXPECT_TRUE(propagate.compute().isnan().item<bool>());
  BinaryRecall ignore({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignore.update(preds, target);
  EXPECT_EQ(ignore.compute().item<double>(), 0.5);
  BinaryStatScores scores;
  scores.update(preds, target);
  EXPECT_TRUE(scores.compute().isnan().all().item<bool>());
  BinaryConfusionMatrix weighted;
  weighted.update(labels({1, 0}), labels({1, 1}), at::tensor({2.0, kNaN}));
  EXPECT_TRUE(weighted.compute().isnan().all().item<bool>());
}

TEST(BinaryCountsTest, MixesBatchesWithAndWithoutWeights) {
  BinaryStatScores scores;
  scores.update(labels({1, 0}), labels({1, 1}));
  scores.update(labels({1, 0}), labels({0, 1}), at::tensor({0.5, 2.0}));
  EXPECT_TRUE(
      testkit::near(scores.compute(), at::tensor({1.0, 0.5, 0.0, 3.0, 4.0})));
}

TEST(BinaryCountsTest, UndefinedValues) {
  const at::Tensor ones = labels({1, 1});
  BinaryCohenKappa kappa;
  kappa.update(ones, ones);
  EXPECT_TRUE(kappa.compute().isnan().item<bool>());
  BinaryMatthewsCorrCoef mcc;
  mcc.update(ones, ones);
  EXPECT_EQ(mcc.compute().item<double>(), 0);
  BinaryBalancedAccuracy balanced;
  balanced.update(ones, ones);
  EXPECT_EQ(balanced.compute().item<double>(), 1);
  BinaryBalancedAccuracy adjusted(
      BinaryBalancedAccuracyOptions().adjusted(true));
  adjusted.update(ones, ones);
  EXPECT_TRUE(adjusted.compute().isnan().item<bool>());
}

}  // namespace
}  // namespace tally
