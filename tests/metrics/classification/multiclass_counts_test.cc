#include "tally/metrics/classification/counts/multiclass_counts.h"

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

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/cohen_kappa.h"
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

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Options = MulticlassRateOptions;
using Sizes = std::vector<std::int64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Average kAverages[] = {Average::kMicro, Average::kMacro,
                                 Average::kWeighted, Average::kNone};

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

// Scores [N, C] whose largest are at the labels.
at::Tensor scores_for(const at::Tensor& labels, std::int64_t classes) {
  return at::rand({labels.size(0), classes})
      .scatter(1, labels.unsqueeze(1), 2.0);
}

template <class... M>
void check_all() {
  (testkit::check_counts<M>(), ...);
}

TEST(MulticlassCountsTest, AccuracyPassesTheHarness) {
  check_all<MulticlassAccuracy>();
}
TEST(MulticlassCountsTest, PrecisionPassesTheHarness) {
  check_all<MulticlassPrecision>();
}
TEST(MulticlassCountsTest, RecallPassesTheHarness) {
  check_all<MulticlassRecall>();
}
TEST(MulticlassCountsTest, FScoresPassTheHarness) {
  check_all<MulticlassF1Score, MulticlassFBetaScore>();
}
TEST(MulticlassCountsTest, OtherAveragesPassTheHarness) {
  check_all<MulticlassSpecificity, MulticlassNegativePredictiveValue,
            MulticlassJaccardIndex, MulticlassStatScores>();
}
TEST(MulticlassCountsTest, OthersPassTheHarness) {
  check_all<MulticlassHammingDistance, MulticlassMatthewsCorrCoef,
            MulticlassBalancedAccuracy, MulticlassCohenKappa>();
}

TEST(MulticlassCountsOptionsTest, AreChecked) {
  const auto message = [](const Options& options) {
    return refusal_of<c10::ValueError>(
        [&] { MulticlassAccuracy metric(options); });
  };
  EXPECT_THAT(message(0), HasSubstr("MulticlassAccuracy: expected num_classes "
                                    "of at least 2, got 0"));
  EXPECT_THAT(message(1), HasSubstr("got 1"));
  EXPECT_THAT(message(Options(3).top_k(0)),
              HasSubstr("expected top_k from 1 to num_classes 3, got 0"));
  EXPECT_THAT(message(Options(3).top_k(4)), HasSubstr("got 4"));
  EXPECT_THAT(message(Options(3).zero_division(0.5)),
              HasSubstr("expected zero_division 0, 1 or nan, got 0.5"));
  EXPECT_EQ(message(Options(3).top_k(3).zero_division(kNaN)), "nothing");
}

TEST(MulticlassCountsOptionsTest, HaveNames) {
  const MulticlassF1Score f1(Options(5)
                                 .average(Average::kWeighted)
                                 .multidim_average(MultidimAverage::kSamplewise)
                                 .ignore_index(-100)
                                 .zero_division(kNaN));
  EXPECT_EQ(f1.repr(),
            "MulticlassF1Score(num_classes=5, top_k=1, "
            "multidim_average=samplewise, ignore_index=-100, "
            "average=weighted, zero_division=nan)");
  EXPECT_FALSE(f1.is_differentiable());
  EXPECT_EQ(f1.higher_is_better(), true);
}

TEST(MulticlassCountsTest, FourMetricsShareOneState) {
  MetricCollection metrics;
  metrics.add("accuracy", MulticlassAccuracy(Options(3)));
  metrics.add("precision",
              MulticlassPrecision(Options(3).average(Average::kMicro)));
  metrics.add("recall", MulticlassRecall(Options(3).zero_division(1)));
  metrics.add("f1", MulticlassF1Score(Options(3).average(Average::kNone)));
  metrics.add("top2", MulticlassAccuracy(Options(3).top_k(2)));
  EXPECT_THAT(metrics.groups(),
              ElementsAre(ElementsAre("accuracy", "precision", "recall", "f1"),
                          ElementsAre("top2")));
  const at::Tensor target = labels({0, 1, 2, 2});
  metrics.update(scores_for(labels({0, 2, 2, 1}), 3), target);
  const Results results = metrics.compute();
  EXPECT_DOUBLE_EQ(results["accuracy"].item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(results["precision"].item<double>(), 0.5);
  EXPECT_TRUE(testkit::near(results["f1"], at::tensor({1.0, 0.0, 0.5})));
}

TEST(MulticlassCountsTest, MetricsWithOtherOptionsShareItToo) {
  MetricCollection metrics;
  metrics.add("accuracy", MulticlassAccuracy(3));
  metrics.add("f2", MulticlassFBetaScore(MulticlassFBetaScoreOptions(3, 2.0)));
  metrics.add("jaccard", MulticlassJaccardIndex(3));
  metrics.add("kappa", MulticlassCohenKappa(3));
  metrics.add("mcc", MulticlassMatthewsCorrCoef(3));
  metrics.add("balanced", MulticlassBalancedAccuracy(3));
  metrics.add("scores", MulticlassStatScores(3));
  metrics.add("ordinal",
              MulticlassCohenKappa(MulticlassCohenKappaOptions(3).weights(
                  KappaWeights::kLinear)));
  EXPECT_EQ(metrics.groups().size(), 2u);
}

template <class M>
void expect_weights_repeat(typename M::Options options) {
  SCOPED_TRACE(M::kName);
  const at::Tensor preds = at::randint(0, 4, {60}, at::kLong);
  const at::Tensor target = at::randint(0, 4, {60}, at::kLong);
  const at::Tensor times = at::randint(0, 4, {60}, at::kLong);
  M weighted(options);
  weighted.update(preds, target, times);
  M repeated(options);
  repeated.update(preds.repeat_interleave(times),
                  target.repeat_interleave(times));
  EXPECT_TRUE(testkit::near(weighted.compute(), repeated.compute()));
  EXPECT_EQ(weighted.state()["sums"].numel(), 14);
}

TEST(MulticlassCountsTest, WeightsRepeatSamples) {
  for (const Average average : kAverages) {
    const Options options = Options(4).average(average);
    expect_weights_repeat<MulticlassAccuracy>(options);
    expect_weights_repeat<MulticlassPrecision>(options);
    expect_weights_repeat<MulticlassRecall>(options);
    expect_weights_repeat<MulticlassF1Score>(options);
  }
  for (const KappaWeights weights :
       {KappaWeights::kNone, KappaWeights::kLinear, KappaWeights::kQuadratic}) {
    expect_weights_repeat<MulticlassCohenKappa>(
        MulticlassCohenKappaOptions(4).weights(weights));
  }
}

TEST(MulticlassCountsTest, RefusesWeights) {
  MulticlassAccuracy metric(Options(3),
                            MetricOptions().nan_policy(NanPolicy::kError));
  MulticlassAccuracy each(
      Options(3).multidim_average(MultidimAverage::kSamplewise));
  const at::Tensor target = labels({0, 1});
  const auto message = [&](MulticlassAccuracy& m, const at::Tensor& weight) {
    return refusal_of<c10::ValueError>(
        [&] { m.update(target, target, weight); });
  };
  EXPECT_THAT(message(each, at::rand({2})),
              HasSubstr("expected no weight with multidim_average samplewise"));
  EXPECT_THAT(message(metric, at::rand({2, 1})),
              HasSubstr("expected weight of shape [2], got [2, 1]"));
  EXPECT_THAT(message(metric, at::tensor({1.0, kNaN})),
              HasSubstr("expected weight without NaN, got NaN at position 1"));
}

TEST(MulticlassCountsTest, ChecksClassesOfQuadraticWeights) {
  EXPECT_THAT(
      refusal_of<c10::ValueError>([] {
        MulticlassCohenKappa(MulticlassCohenKappaOptions(50'000).weights(
            KappaWeights::kQuadratic));
      }),
      HasSubstr("expected num_classes of at most 46340 with weights "
                "quadratic, got 50000"));
}

TEST(MulticlassCountsTest, UndefinedValues) {
  const at::Tensor ones = labels({1, 1});
  MulticlassCohenKappa kappa(3);
  MulticlassMatthewsCorrCoef mcc(3);
  EXPECT_TRUE(kappa.compute().isnan().item<bool>());
  EXPECT_TRUE(mcc.compute().isnan().item<bool>());
  kappa.update(ones, ones);
  mcc.update(ones, ones);
  EXPECT_TRUE(kappa.compute().isnan().item<bool>());
  EXPECT_EQ(mcc.compute().item<double>(), 0);
  mcc.update(at::full({1, 3}, kNaN), labels({1}));
  EXPECT_TRUE(mcc.compute().isnan().item<bool>());
  MulticlassStatScores scores(Options(3).num_classes());
  EXPECT_TRUE(scores.compute().eq(0).all().item<bool>());
}

TEST(MulticlassCountsTest, KeepsThreeCountsPerClass) {
  MulticlassAccuracy metric(100'000);
  metric.update(labels({99'999, 1, 7}), labels({99'999, 2, 7}));
  EXPECT_EQ(metric.state()["counts"].numel(), 300'002);
  EXPECT_EQ(metric.state()["counts"].sum().item<std::int64_t>(), 8);
}

TEST(MulticlassCountsTest, NothingCountedIsNaN) {
  for (const Average average : kAverages) {
    MulticlassPrecision metric(
        Options(3).average(average).ignore_index(-1).zero_division(1));
    const auto is_nan = [&] { return metric.compute().isnan().all(); };
    EXPECT_TRUE(is_nan().item<bool>());
    metric.update(at::empty({0, 3}), at::empty({0}, at::kLong));
    EXPECT_TRUE(is_nan().item<bool>());
    metric.update(at::rand({2, 3}), labels({-1, -1}));
    EXPECT_TRUE(is_nan().item<bool>());
    EXPECT_EQ(metric.compute().dim(), average == Average::kNone ? 1 : 0);
  }
}

// The last class is ignored, and predicted twice; the one before is absent.
template <class M>
void expect_mean_of_the_others(double micro) {
  SCOPED_TRACE(M::kName);
  const at::Tensor preds = labels({0, 3, 1, 2, 3}).unsqueeze(0);
  const at::Tensor target = labels({0, 0, 1, 3, 1}).unsqueeze(0);
  const auto value = [&](Average average, MultidimAverage over) {
    M metric(
        Options(4).average(average).multidim_average(over).ignore_index(3));
    metric.update(preds, target);
    return metric.compute();
  };
  for (const auto over :
       {MultidimAverage::kGlobal, MultidimAverage::kSamplewise}) {
    const at::Tensor each = value(Average::kNone, over).reshape({4});
    const double mean = each.narrow(0, 0, 2).mean().template item<double>();
    EXPECT_EQ(value(Average::kMacro, over).template item<double>(), mean);
    EXPECT_EQ(value(Average::kWeighted, over).template item<double>(), mean);
    EXPECT_EQ(value(Average::kMicro, over).template item<double>(), micro);
  }
}

TEST(MulticlassCountsTest, AnIgnoredClassLeavesTheMeans) {
  expect_mean_of_the_others<MulticlassAccuracy>(0.5);
  expect_mean_of_the_others<MulticlassPrecision>(0.5);
  expect_mean_of_the_others<MulticlassRecall>(0.5);
  expect_mean_of_the_others<MulticlassF1Score>(0.5);
  expect_mean_of_the_others<MulticlassHammingDistance>(0.5);
  expect_mean_of_the_others<MulticlassSpecificity>(10.0 / 12);
  expect_mean_of_the_others<MulticlassNegativePredictiveValue>(10.0 / 12);
  // Its union is left out here, too.
  expect_mean_of_the_others<MulticlassJaccardIndex>(0.5);
}

// Class 2 never occurs, class 3 is predicted and never a target.
TEST(MulticlassCountsTest, ADistanceOfAnAbsentClassIsZeroDivision) {
  const at::Tensor preds = labels({0, 1, 1, 3});
  const at::Tensor target = labels({0, 1, 1, 0});
  const auto distances = [&](double zero_division) {
    MulticlassHammingDistance metric(
        Options(4).average(Average::kNone).zero_division(zero_division));
    metric.update(preds, target);
    return metric.compute();
  };
  const auto near = [](const at::Tensor& a, at::ArrayRef<double> b) {
    return testkit::near(a, at::tensor(b, at::kDouble));
  };
  EXPECT_TRUE(near(distances(0), {0.5, 0, 0, 1}));
  EXPECT_TRUE(near(distances(1), {0.5, 0, 1, 1}));
  EXPECT_TRUE(near(distances(kNaN), {0.5, 0, kNaN, kNaN}));
}

TEST(MulticlassCountsTest, NothingCountedSamplewise) {
  const Options options =
      Options(3).multidim_average(MultidimAverage::kSamplewise);
  MulticlassRecall one(options);
  EXPECT_EQ(one.compute().sizes(), at::IntArrayRef({0}));
  MulticlassRecall each(Options(options).average(Average::kNone));
  EXPECT_EQ(each.compute().sizes(), at::IntArrayRef({0, 3}));
  one.update(at::empty({2, 3, 0}), at::empty({2, 0}, at::kLong));
  EXPECT_TRUE(testkit::near(one.compute(), at::full({2}, kNaN)));
}

TEST(MulticlassCountsTest, SamplewiseTakesOnePositionToo) {
  MulticlassAccuracy metric(
      Options(3).multidim_average(MultidimAverage::kSamplewise));
  metric.update(labels({0, 1}), labels({0, 2}));
  metric.update(labels({2}), labels({2}));
  EXPECT_TRUE(testkit::near(metric.compute(), at::tensor({1.0, 0.0, 1.0})));
}

// Class 1 is a target only, 2 is predicted only, 3 does not occur.
template <class M>
at::Tensor value_with(double zero_division, Average average) {
  M metric(Options(4).average(average).zero_division(zero_division));
  metric.update(labels({0, 0, 2}), labels({0, 1, 0}));
  return metric.compute();
}

TEST(MulticlassCountsTest, ZeroDivisionIsTheValueOfUndefinedClasses) {
  for (const double zero : {0.0, 1.0, kNaN}) {
    EXPECT_TRUE(
        testkit::near(value_with<MulticlassPrecision>(zero, Average::kNone),
                      at::tensor({0.5, zero, 0.0, zero})));
    EXPECT_TRUE(
        testkit::near(value_with<MulticlassRecall>(zero, Average::kNone),
                      at::tensor({0.5, 0.0, zero, zero})));
    EXPECT_TRUE(
        testkit::near(value_with<MulticlassF1Score>(zero, Average::kNone),
                      at::tensor({0.5, 0.0, 0.0, zero})));
  }
  const auto macro = [](double zero) {
    return value_with<MulticlassRecall>(zero, Average::kMacro).item<double>();
  };
  EXPECT_DOUBLE_EQ(macro(0), 0.5 / 3);
  EXPECT_DOUBLE_EQ(macro(1), 1.5 / 3);
  EXPECT_DOUBLE_EQ(macro(kNaN), 0.5 / 2);
  const auto weighted = [](double zero) {
    return value_with<MulticlassPrecision>(zero, Average::kWeighted)
        .item<double>();
  };
  EXPECT_DOUBLE_EQ(weighted(0), 2 * 0.5 / 3);
  EXPECT_DOUBLE_EQ(weighted(1), (2 * 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(weighted(kNaN), 0.5);
}

TEST(MulticlassCountsTest, RefusesLabelsThatAreNoClassesForEveryAverage) {
  for (const Average average : kAverages) {
    for (const bool validate : {true, false}) {
      MulticlassPrecision metric(Options(3).average(average).ignore_index(-100),
                                 MetricOptions().validate_args(validate));
      metric.update(labels({1, 2}), labels({1, 0}));
      const Results before = metric.state();
      const auto message = [&](const at::Tensor& preds,
                               const at::Tensor& target) {
        const std::string text =
            refusal_of<c10::IndexError>([&] { metric.update(preds, target); });
        EXPECT_TRUE(testkit::same_bits(metric.state(), before));
        EXPECT_EQ(metric.update_count(), 1);
        return text;
      };
      EXPECT_THAT(message(at::rand({3, 3}), labels({0, -100, 3})),
                  AllOf(HasSubstr("MulticlassPrecision"),
                        HasSubstr("expected target in [0, 3) or ignore_index "
                                  "(-100), got 3 at position 2")));
      EXPECT_THAT(message(at::rand({1, 3, 2}), labels({-1, 0}).unsqueeze(0)),
                  HasSubstr("got -1 at position 0"));
      EXPECT_THAT(message(labels({0, 3}), labels({0, 0})),
                  HasSubstr("expected preds in [0, 3), got 3 at position 1"));
      EXPECT_THAT(message(labels({-100}), labels({0})),
                  HasSubstr("expected preds in [0, 3), got -100"));
    }
  }
}

TEST(MulticlassCountsTest, IgnoredPositionsMayHoldAnything) {
  MulticlassAccuracy metric(Options(3).ignore_index(7),
                            MetricOptions().nan_policy(NanPolicy::kError));
  metric.update(labels({0, 99}), labels({0, 7}));
  metric.update(at::full({1, 3}, kNaN), labels({7}));
  EXPECT_EQ(metric.compute().item<double>(), 1);
}

TEST(MulticlassCountsTest, RefusesOtherInputs) {
  MulticlassAccuracy metric(Options(3));
  MulticlassAccuracy top(Options(3).top_k(2));
  const at::Tensor target = labels({0, 1});
  const auto value_error = [&](Metric& m, const at::Tensor& p,
                               const at::Tensor& t) {
    return refusal_of<c10::ValueError>([&] { m.update(p, t); });
  };
  const auto type_error = [&](const at::Tensor& p, const at::Tensor& t) {
    return refusal_of<c10::TypeError>([&] { metric.update(p, t); });
  };
  EXPECT_THAT(value_error(metric, {}, target),
              HasSubstr("expected a tensor as preds"));
  EXPECT_THAT(value_error(metric, at::rand({2, 3}), {}),
              HasSubstr("expected a tensor as target"));
  EXPECT_THAT(value_error(metric, at::rand({3}), at::zeros({}, at::kLong)),
              HasSubstr("expected target of shape [N, ...]"));
  for (const Sizes& sizes :
       {Sizes({2}), Sizes({2, 4}), Sizes({3, 3}), Sizes({2, 3, 1})}) {
    EXPECT_THAT(value_error(metric, at::rand(sizes), target),
                HasSubstr("expected scores of shape [N, 3, ...] in preds"));
  }
  EXPECT_THAT(value_error(metric, at::zeros({2, 3}, at::kLong), target),
              HasSubstr("expected labels in preds of target's shape"));
  EXPECT_THAT(value_error(top, target, target),
              HasSubstr("expected scores in preds for top_k 2, got labels"));
  EXPECT_THAT(type_error(at::rand({2, 3}), at::zeros({2}, at::kComplexFloat)),
              HasSubstr("int64 in target, got ComplexFloat"));
  EXPECT_THAT(type_error(at::zeros({2, 3}, at::kComplexFloat), target),
              HasSubstr("int64 in preds, got ComplexFloat"));
  EXPECT_THAT(type_error(at::rand({2, 3}), target.to(at::kBool)),
              HasSubstr("for 3 classes, got bool, which is for 2"));
  EXPECT_THAT(type_error(at::rand({2, 3}).to_sparse(), target),
              HasSubstr("expected a dense tensor as preds, got layout Sparse"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(MulticlassCountsTest, NanPolicies) {
  const at::Tensor preds = scores_for(labels({0, 1, 2}), 3);
  const at::Tensor with_nan = preds.clone();
  with_nan[1][0] = kNaN;
  const at::Tensor target = labels({0, 1, 1});
  for (const Average average : kAverages) {
    const auto metric = [&](NanPolicy policy) {
      return MulticlassRecall(Options(3).average(average),
                              MetricOptions().nan_policy(policy));
    };
    MulticlassRecall propagate = metric(NanPolicy::kPropagate);
    propagate.update(with_nan, target);
    propagate.update(preds, target);
    EXPECT_TRUE(propagate.compute().isnan().all().item<bool>());
    EXPECT_EQ(propagate.state()["counts"].slice(0, 6, 9).sum().item<int>(), 5);

    MulticlassRecall ignore = metric(NanPolicy::kIgnore);
    ignore.update(with_nan, target);
    MulticlassRecall without = metric(NanPolicy::kPropagate);
    without.update(preds.index_select(0, labels({0, 2})),
                   target.index_select(0, labels({0, 2})));
    EXPECT_TRUE(testkit::same_bits(ignore.compute(), without.compute()));

    MulticlassRecall error = metric(NanPolicy::kError);
    EXPECT_THAT(
        refusal_of<c10::ValueError>([&] { error.update(with_nan, target); }),
        HasSubstr("expected preds without NaN, got NaN among the scores for "
                  "target's position 1"));
    EXPECT_EQ(error.update_count(), 0);
  }
}

TEST(MulticlassCountsTest, NanStaysWithItsSample) {
  MulticlassRecall metric(
      Options(3).multidim_average(MultidimAverage::kSamplewise));
  at::Tensor preds = at::zeros({2, 3, 2});
  preds[1][2][1] = kNaN;
  metric.update(preds, at::zeros({2, 2}, at::kLong));
  EXPECT_TRUE(testkit::near(metric.compute(), at::tensor({1.0, kNaN})));
}

TEST(MulticlassCountsTest, RefusesStatesOfOtherClasses) {
  MulticlassCounts::State state;
  state.counts = at::zeros({7}, at::kLong);
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [&] { MulticlassRecall(Options(3)).evaluate(state); }),
              HasSubstr("expected 11 counts in the state, got 7"));
}

}  // namespace
}  // namespace tally
