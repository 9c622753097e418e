#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/wrappers/helpers.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::columns;
using testkit::kNaN;
using testkit::number;
using testkit::refusal_of;
using testkit::same_bits;
using testkit::SampleExtent;

TEST(RunningTest, CountsTheLastBatches) {
  RunningSum sum(3);
  RunningMean mean;
  double expected[] = {1, 3, 6, 9, 12, 15, 18};
  for (int i = 1; i <= 7; ++i) {
    EXPECT_EQ(number(sum.forward(i)), i);
    EXPECT_EQ(number(sum.compute()), expected[i - 1]);
    mean.update(1.0 * i, i);
  }
  EXPECT_DOUBLE_EQ(number(mean.compute()),
                   (9.0 + 16 + 25 + 36 + 49) / (3 + 4 + 5 + 6 + 7));
  EXPECT_EQ(mean.name(), "RunningMean");
  EXPECT_EQ(sum.clone()->repr(),
            "RunningSum(window=3, nan_strategy=warn, nan_value=0)");
  EXPECT_EQ(number(sum.clone()->compute_results()), 18);
  sum.reset();
  EXPECT_EQ(number(sum.compute()), 0);
  sum.update(2);
  EXPECT_EQ(number(sum.compute()), 2);
  EXPECT_EQ(sum.update_count(), 1);
}

TEST(RunningTest, LeavesInputsAsTheyAre) {
  RunningMean mean(RunningAggregationOptions(2)
                       .nan_strategy(NanStrategy::kReplace)
                       .nan_value(5));
  const at::Tensor value = at::tensor({kNaN, 1.0});
  mean.update(value);
  EXPECT_EQ(number(mean.compute()), 3);
  EXPECT_TRUE(std::isnan(number(value[0])));
  EXPECT_EQ(mean.metric_options().nan_policy(), NanPolicy::kPropagate);
}

THREAD_RANKS_TEST(RunningTest, CountsTheLastStepsOfAllRanks, 3) {
  const int rank = self.rank();
  RunningSum even(2);
  RunningSum uneven(2);
  const int batches[] = {5, 4, 0};
  for (int i = 0; i < 5; ++i) {
    even.update(10 * rank + i);
    if (i < batches[rank]) uneven.update(10 * rank + i);
  }
  EXPECT_EQ(number(even.compute()), 3 + 4 + 13 + 14 + 23 + 24);
  // Rank 1's last but one belongs to a step before the last two.
  EXPECT_EQ(number(uneven.compute()), 3 + 4 + 13);
  uneven.reset();
  uneven.update(rank);
  EXPECT_EQ(number(uneven.compute()), 3);
}

THREAD_RANKS_TEST(RunningTest, ForwardMayBeOfAllRanks, 2) {
  Running sum(
      SumMetric({}, MetricOptions().dist_sync_on_step(true).communicator(
                        self.group())),
      3);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(number(sum.forward(10 * self.rank() + i).value()), 10 + 2 * i);
  }
  EXPECT_EQ(number(sum.compute().value()), 2 * (2 + 3 + 4) + 30);
}

TEST(RunningTest, AnUpdateDoesNotDependOnTheWindow) {
  // A batch that stood for the whole window would hold all of its slots.
  const Running metric(MeanMetric(), 1000);
  AnyState batch = metric.make_batch();
  EXPECT_TRUE(batch.get<StateParts>().lone_part());
  RunningSum sum(100'000);
  for (int i = 0; i < 1000; ++i) sum.update(i);
  EXPECT_EQ(number(sum.compute()), 999 * 500);
  MetricCollection metrics;
  metrics.add("lately", Running(SumMetric(), 2));
  for (const int i : {1, 2, 3}) {
    EXPECT_EQ(number(metrics.forward(i)["lately"]), i);
  }
  EXPECT_EQ(number(metrics.compute()["lately"]), 5);
}

TEST(RunningTest, KeepsTheWindowAcrossCheckpoints) {
  Running metric(MeanMetric(), 3);
  for (const int i : {1, 2, 3, 4}) metric.update(i);
  Running loaded(MeanMetric(), 3);
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  loaded.update(8);
  EXPECT_EQ(number(loaded.compute()), 5);
  Running other(MeanMetric(), 2);
  EXPECT_EQ(other.deserialize(metric.serialize()).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RunningTest, RefusesWhatItCannotWindow) {
  EXPECT_THAT(refusal_of<c10::Error>([] { Running none(MeanMetric(), 0); }),
              HasSubstr("Running: expected window to be at least 1, got 0"));
  EXPECT_THAT(refusal_of<c10::Error>([] { RunningSum none(-1); }),
              HasSubstr("RunningSum: expected window to be at least 1"));
  EXPECT_THAT(refusal_of<c10::Error>(
                  [] { Running none(MinMaxMetric(MeanMetric()), 2); }),
              HasSubstr("Running: expected a metric that does not store "
                        "computed values, got MinMaxMetric("));
}

TEST(InputTransformerTest, TransformsPredsAndTarget) {
  LambdaInputTransformer metric(
      MeanSquaredError(),
      LambdaInputTransformerOptions("halves")
          .preds([](const at::Tensor& x) { return x.div(2); })
          .target([](const at::Tensor& x) { return x.add(1); }));
  const at::Tensor preds = at::tensor({2.0, 4.0});
  metric.update(preds, at::tensor({1.0, 3.0}));
  EXPECT_EQ(number(metric.compute()), 2.5);
  EXPECT_TRUE(same_bits(preds, at::tensor({2.0, 4.0})));
  EXPECT_EQ(number(metric.clone()->compute_results()), 2.5);
  EXPECT_THAT(metric.repr(), HasSubstr(", label=halves)"));
}

TEST(InputTransformerTest, TellsFunctionsApartByTheirLabel) {
  const auto with = [](const char* label) {
    return LambdaInputTransformer(MeanMetric(),
                                  LambdaInputTransformerOptions(label).preds(
                                      [](const at::Tensor& x) { return x; }));
  };
  MetricCollection metrics;
  metrics.add("a", with("one"));
  metrics.add("b", with("one"));
  metrics.add("c", with("other"));
  metrics.add("d", MeanMetric());
  metrics.add("e", BinaryTargetTransformer(MeanMetric(), 1));
  metrics.add("f", BinaryTargetTransformer(MeanMetric(), 2));
  EXPECT_THAT(
      metrics.groups(),
      ElementsAre(ElementsAre("a", "b"), ElementsAre("c"), ElementsAre("d"),
                  ElementsAre("e"), ElementsAre("f")));
}

/// One of a user's own.
class Doubled final : public MetricInputTransformer {
 public:
  explicit Doubled(OwnedMetric metric)
      : MetricInputTransformer("Doubled", std::move(metric)) {
    set_state();
  }
  std::string name() const override { return "Doubled"; }

 protected:
  at::Tensor transform_preds(const at::Tensor& preds) const override {
    return preds.mul(2);
  }
  std::string options_text() const override { return ""; }
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<Doubled>(std::move(metric));
  }
};

TEST(InputTransformerTest, IsDerivedFrom) {
  Doubled metric{MinMaxMetric(SumMetric())};
  metric.update(at::tensor({1.0, 2.0}));
  EXPECT_EQ(number(metric.clone()->compute_results()["max"]), 6);
  metric.compute();
  metric.reset();
  EXPECT_EQ(number(metric.compute()["max"]), 6);
  EXPECT_EQ(metric.repr(),
            "Doubled(metric=MinMaxMetric(metric=SumMetric(nan_strategy=warn, "
            "nan_value=0)))");
}

TEST(InputTransformerTest, RefusesBadOptionsAndInputs) {
  const auto same = [](const at::Tensor& x) { return x; };
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                LambdaInputTransformer metric(
                    MeanMetric(), LambdaInputTransformerOptions().preds(same));
              }),
              HasSubstr("expected a label for the functions, got none"));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                LambdaInputTransformer metric(
                    MeanMetric(), LambdaInputTransformerOptions("same"));
              }),
              HasSubstr("expected a function for preds or for target"));
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { BinaryTargetTransformer metric(MeanMetric(), kNaN); }),
              HasSubstr("expected threshold to be a number, got NaN"));
  BinaryTargetTransformer metric{MeanSquaredError()};
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                metric.update(at::ones({1}), at::ones({1}, at::kComplexFloat));
              }),
              HasSubstr("expected target of a real dtype"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { metric.update(std::string("preds")); }),
      HasSubstr("BinaryTargetTransformer: expected preds to be an "
                "at::Tensor, got a std::"));
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
}

TEST(MultioutputWrapperTest, TakesEachOutputByItself) {
  MultioutputWrapper metric(MeanSquaredError(), 2);
  MeanSquaredError first, second;
  const at::Tensor preds = columns({1, 2, 3, kNaN, 5, 6}, 2);
  const at::Tensor target = columns({0, 2, kNaN, 4, 1, 3}, 2);
  metric.update(preds, target, at::tensor({1.0, 1.0, 3.0}));
  first.update(at::tensor({1.0, 5.0}), at::tensor({0.0, 1.0}),
               at::tensor({1.0, 3.0}));
  second.update(at::tensor({2.0, 6.0}), at::tensor({2.0, 3.0}),
                at::tensor({1.0, 3.0}));
  const at::Tensor value = metric.compute().value();
  EXPECT_DOUBLE_EQ(number(value[0]), number(first.compute()));
  EXPECT_DOUBLE_EQ(number(value[1]), number(second.compute()));

  MultioutputWrapper empty(MeanSquaredError(), 2);
  empty.update(columns({1, kNaN}, 2), columns({3, 1}, 2));
  EXPECT_EQ(number(empty.compute().value()[0]), 4);
  EXPECT_TRUE(std::isnan(number(empty.compute().value()[1])));
}

TEST(MultioutputWrapperTest, TakesLabelsBesideScoresOfClasses) {
  constexpr std::int64_t kRows = 20;
  // As many outputs as classes, and not.
  for (const std::int64_t outputs : {2, 3}) {
    const at::Tensor scores = at::rand({kRows, 3, outputs});
    const at::Tensor target = at::randint(0, 3, {kRows, outputs}, at::kLong);
    const at::Tensor weight = at::randint(1, 4, {kRows});
    MultioutputWrapper plain(MulticlassAccuracy(3), outputs);
    MultioutputWrapper weighted(MulticlassAccuracy(3), outputs);
    MultioutputWrapper each(MulticlassAccuracy(3), outputs);
    MultioutputWrapper front(MulticlassAccuracy(3),
                             MultioutputWrapperOptions(outputs).output_dim(0));
    plain.update(scores, target);
    weighted.update(scores, target, weight);
    each.update(scores, target.to(at::kFloat),
                weight.unsqueeze(1).expand({kRows, outputs}));
    front.update(scores.movedim(-1, 0), target.movedim(-1, 0), weight);
    for (std::int64_t i = 0; i < outputs; ++i) {
      MulticlassAccuracy one(3), of_rows(3);
      one.update(scores.select(2, i), target.select(1, i));
      of_rows.update(scores.select(2, i), target.select(1, i), weight);
      EXPECT_EQ(number(plain.compute().value()[i]), number(one.compute()));
      const double expected = number(of_rows.compute());
      EXPECT_EQ(number(weighted.compute().value()[i]), expected);
      EXPECT_EQ(number(each.compute().value()[i]), expected);
      EXPECT_EQ(number(front.compute().value()[i]), expected);
    }
  }
  MultioutputWrapper other(MulticlassAccuracy(3), 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                other.update(at::rand({4, 3, 2}), at::zeros({4, 3}, at::kLong));
              }),
              HasSubstr("expected scores of shape [N, 3, ...] in preds"));
}

TEST(MultioutputWrapperTest, StacksEveryResultAlongAnyDimension) {
  MultioutputWrapper metric(
      SampleExtent(),
      MultioutputWrapperOptions(2).output_dim(1).squeeze_outputs(false));
  metric.update(columns({1, 2, 3, 4, 5, 6}, 2));
  const Results results = metric.compute();
  EXPECT_TRUE(same_bits(results["low"], at::tensor({1.0, 2.0})));
  EXPECT_TRUE(same_bits(results["high"], columns({5, 6}, 1)));
  MultioutputWrapper keeps(MinMaxMetric(SumMetric()), 2);
  keeps.update(columns({1, 2}, 2));
  keeps.compute();
  keeps.reset();
  EXPECT_TRUE(same_bits(keeps.compute()["max"], at::tensor({1.0, 2.0})));
}

TEST(MultioutputWrapperTest, RefusesBadOptionsAndInputs) {
  EXPECT_THAT(
      refusal_of<c10::Error>([] { MultioutputWrapper none(MeanMetric(), 0); }),
      HasSubstr("expected num_outputs to be at least 1, got 0"));
  MultioutputWrapper metric(MeanMetric(), 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                metric.update(at::ones({3, 3}));
              }),
              HasSubstr("MultioutputWrapper: expected inputs with 2 outputs in "
                        "dimension -1, got sizes [3, 3]"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(1.0); }),
              HasSubstr("got sizes []"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(at::Tensor()); }),
              HasSubstr("expected a tensor as input 0, got an undefined one"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(std::string("x")); }),
              HasSubstr("expected value to be an at::Tensor"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(); }),
              HasSubstr("expected at least 1 input, got 0"));
  MultioutputWrapper rows(CatMetric(), 2);
  rows.update(columns({1, kNaN, 2, 3}, 2));
  EXPECT_THAT(refusal_of<c10::Error>([&] { rows.compute(); }),
              HasSubstr("MultioutputWrapper: expected results of the same "
                        "sizes of every output, got [2] and [1]"));
  MultioutputWrapper named(ClasswiseWrapper(CatMetric()), 2);
  named.update(columns({1, kNaN, 2, 3}, 2));
  EXPECT_THAT(refusal_of<c10::Error>([&] { named.compute(); }),
              HasSubstr("expected the same results of every output"));
}

}  // namespace
}  // namespace tally
