#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/group_fairness.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/metrics/wrappers/multitask_wrapper.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::same_bits;

const at::Tensor kPreds = at::tensor({0.2, 0.9, 0.6, 0.1});
const at::Tensor kTarget = at::tensor({0, 1, 0, 1});
const at::Tensor kGroups = at::tensor({0, 1, 0, 1});
const at::Tensor kWeight = at::tensor({1.0, 2.0, 3.0, 4.0});

std::vector<std::string> names_of(c10::ArrayRef<InputInfo> inputs) {
  std::vector<std::string> names;
  for (const InputInfo& input : inputs) names.push_back(input.name);
  return names;
}

MetricCollection fairness_and_accuracy() {
  MetricCollection metrics;
  metrics.add("fairness", BinaryFairness(2));
  metrics.add("accuracy", BinaryAccuracy());
  return metrics;
}

TEST(NamedInputsTest, ComeInAnyOrder) {
  BinaryAccuracy expected, metric;
  expected.update(kPreds, kTarget, kWeight);
  metric.update({{"weight", kWeight}, {"target", kTarget}, {"preds", kPreds}});
  EXPECT_TRUE(same_bits(metric.compute(), expected.compute()));
  BinaryAccuracy forwarded;
  EXPECT_TRUE(same_bits(
      forwarded.forward(
          {{"preds", kPreds}, {"weight", kWeight}, {"target", kTarget}}),
      expected.compute()));
  const std::unique_ptr<Metric> erased = BinaryAccuracy().clone();
  const std::vector<NamedInput> inputs = {
      {"target", kTarget}, {"preds", kPreds}, {"weight", kWeight}};
  erased->update_inputs(inputs);
  EXPECT_TRUE(same_bits(erased->compute_results().value(), expected.compute()));
  EXPECT_EQ(erased->forward_inputs(inputs).size(), 1u);
}

TEST(NamedInputsTest, MayBeLeftOut) {
  BinaryAccuracy expected, metric;
  for (int i = 0; i < 2; ++i) {
    expected.update(kPreds, kTarget);
    expected.update(kPreds, kTarget, kWeight);
    metric.update({{"preds", kPreds}, {"target", kTarget}});
    metric.update(
        {{"preds", kPreds}, {"target", kTarget}, {"weight", kWeight}});
  }
  expected.update(kPreds, kTarget);
  metric.update(
      {{"preds", kPreds}, {"target", kTarget}, {"weight", std::nullopt}});
  EXPECT_TRUE(same_bits(metric.state(), expected.state()));
}

TEST(NamedInputsTest, MayBeNumbers) {
  MeanMetric mean;
  mean.update({{"value", 2}, {"weight", 3.0}});
  mean.update({{"value", 6}});
  EXPECT_EQ(mean.compute().item<double>(), 3);
}

TEST(NamedInputsTest, AreRefusedBeforeAnythingChanged) {
  BinaryAccuracy metric;
  EXPECT_THAT(refusal_of([&] {
                metric.update({{"pred", kPreds}, {"target", kTarget}});
              }),
              HasSubstr("BinaryAccuracy: expected the inputs preds, target"
                        "[, weight], got 'pred', which is none of them; did "
                        "you mean 'preds'?"));
  EXPECT_THAT(refusal_of([&] {
                metric.update({{"preds", kPreds}});
              }),
              HasSubstr("BinaryAccuracy: expected the input 'target' (int or "
                        "float 0 or 1 [N, ...]), got preds"));
  EXPECT_THAT(
      refusal_of([&] {
        metric.forward({{"preds", kPreds}, {"preds", kPreds}});
      }),
      HasSubstr("BinaryAccuracy: expected each input once, got 'preds' twice"));
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
}

TEST(NamedInputsTest, NeedADeclaration) {
  testkit::SampleTensorSum metric;
  EXPECT_TRUE(metric.inputs().empty());
  EXPECT_THAT(refusal_of([&] {
                metric.update({{"values", kPreds}});
              }),
              HasSubstr("SampleTensorSum: expected inputs by position, got "
                        "them by name, which the metric does not declare"));
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("sum", testkit::SampleTensorSum());
  metrics.update(kPreds);
  EXPECT_THAT(refusal_of([&] {
                metrics.update({{"value", kPreds}});
              }),
              HasSubstr("SampleTensorSum ('sum') does not"));
  EXPECT_EQ(metrics.update_count(), 1);
}

TEST(NamedInputsTest, ReachTheMembersThatTakeThem) {
  MetricCollection metrics = fairness_and_accuracy();
  metrics.add("loss", MeanMetric());
  EXPECT_THAT(names_of(metrics.inputs()),
              ElementsAre("preds", "value", "target", "weight", "groups"));
  for (int i = 0; i < 2; ++i) {
    metrics.update({{"preds", kPreds},
                    {"target", kTarget},
                    {"groups", kGroups},
                    {"value", 0.5}});
  }
  BinaryFairness fairness(2);
  fairness.update(kPreds, kTarget, kGroups);
  BinaryAccuracy accuracy;
  accuracy.update(kPreds, kTarget);
  const Results results = metrics.compute();
  EXPECT_TRUE(same_bits(results["accuracy"], accuracy.compute()));
  EXPECT_EQ(results["loss"].item<double>(), 0.5);
  const Results alone = fairness.compute_results();
  for (const auto& [name, value] : alone) {
    EXPECT_TRUE(same_bits(results["fairness." + name], value)) << name;
  }
  const Results step = metrics.forward({{"value", kPreds},
                                        {"weight", kWeight},
                                        {"preds", kPreds},
                                        {"target", kTarget},
                                        {"groups", kGroups}});
  accuracy.reset();
  EXPECT_TRUE(
      same_bits(step["accuracy"], accuracy.forward(kPreds, kTarget, kWeight)));
}

TEST(NamedInputsTest, OfACollectionAreRefusedBeforeAnythingChanged) {
  MetricCollection metrics = fairness_and_accuracy();
  EXPECT_THAT(
      refusal_of([&] {
        metrics.update({{"preds", kPreds}, {"target", kTarget}});
      }),
      HasSubstr("BinaryFairness ('fairness'): expected the input 'groups' "
                "(int [N, ...]), got preds, target"));
  EXPECT_THAT(
      refusal_of([&] {
        metrics.update(
            {{"preds", kPreds}, {"target", kTarget}, {"group", kGroups}});
      }),
      HasSubstr("MetricCollection: expected the inputs preds, target, "
                "groups[, weight], got 'group', which is none of "
                "them; did you mean 'groups'?"));
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
}

// Groups once weighed accuracy, silently.
TEST(NamedInputsTest, PositionsWithDifferentMeaningsAreRefused) {
  MetricCollection metrics = fairness_and_accuracy();
  const std::string refusal =
      ": input 2 has several meanings: BinaryFairness "
      "('fairness') as 'groups', BinaryAccuracy ('accuracy') as 'weight'; pass "
      "inputs by name: update({{\"preds\", preds}, {\"target\", target}, "
      "{\"groups\", groups}, {\"weight\", weight}})";
  EXPECT_THAT(refusal_of([&] { metrics.update(kPreds, kTarget, kGroups); }),
              HasSubstr(refusal));
  EXPECT_THAT(refusal_of([&] { metrics.forward(kPreds, kTarget, kGroups); }),
              HasSubstr(refusal));
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
  MetricTracker tracker(std::move(metrics));
  tracker.increment();
  EXPECT_THAT(refusal_of([&] { tracker.update(kPreds, kTarget, kGroups); }),
              HasSubstr(refusal));
  tracker.update({{"preds", kPreds}, {"target", kTarget}, {"groups", kGroups}});
  tracker.forward(
      {{"preds", kPreds}, {"target", kTarget}, {"groups", kGroups}});
  EXPECT_EQ(tracker.compute()["accuracy"].item<double>(), 0.5);
}

TEST(NamedInputsTest, PositionsOnWhichMembersAgreeCanBeGiven) {
  MetricCollection metrics;
  metrics.add("mse", MeanSquaredError());
  metrics.add("accuracy", BinaryAccuracy());
  metrics.update(kPreds, kTarget, kWeight);
  EXPECT_THAT(names_of(metrics.inputs()),
              ElementsAre("preds", "target", "weight"));
  MeanSquaredError mse;
  mse.update(kPreds, kTarget, kWeight);
  EXPECT_TRUE(same_bits(metrics.compute()["mse"], mse.compute()));
}

TEST(NamedInputsTest, OfArithmeticReachTheMetricsThatTakeThem) {
  auto both = MeanSquaredError() + MeanMetric();
  EXPECT_THAT(
      refusal_of([&] { both.update(kPreds, kTarget); }),
      HasSubstr("CompositionalMetric: expected at most 0 inputs by position, "
                "got 2"));
  EXPECT_THAT(refusal_of([&] { both.observe(kPreds, kTarget); }),
              HasSubstr("pass inputs by name: update({{\"preds\", preds}"));
  both.update({{"target", kPreds}, {"value", 2}, {"preds", kPreds}});
  EXPECT_EQ(both.compute().item<double>(), 2);
  MetricCollection metrics;
  metrics.add("both", MeanSquaredError() + MeanMetric());
  metrics.add("mse", MeanSquaredError());
  EXPECT_THAT(refusal_of([&] { metrics.update(kPreds, kTarget); }),
              HasSubstr("has several meanings"));
  metrics.update({{"target", kPreds}, {"value", 2}, {"preds", kPreds}});
  EXPECT_EQ(metrics.compute()["both"].item<double>(), 2);
}

TEST(NamedInputsTest, TasksMayHaveNoTarget) {
  MultitaskWrapper tasks;
  tasks.add("age", MeanSquaredError());
  tasks.add("loss", MeanMetric());
  EXPECT_THAT(names_of(tasks.inputs()),
              ElementsAre("preds", "value", "target", "weight"));
  const TaskInputs age = {{"age", kPreds}};
  const TaskInputs loss = {{"loss", at::tensor(0.5)}};
  EXPECT_THAT(refusal_of([&] { tasks.update(age, age); }),
              HasSubstr("expected at most 0 inputs by position, got 2"));
  tasks.update({{"preds", age}, {"target", age}, {"value", loss}});
  EXPECT_EQ(tasks.compute()["age"].item<double>(), 0);
  EXPECT_EQ(tasks.compute()["loss"].item<double>(), 0.5);
  EXPECT_THAT(
      refusal_of([&] {
        tasks.update({{"preds", age}, {"target", loss}, {"value", loss}});
      }),
      HasSubstr("MultitaskWrapper: expected target of the tasks age, got "
                "loss"));
  EXPECT_THAT(refusal_of([&] {
                tasks.update({{"preds", age}});
              }),
              HasSubstr("expected the input 'value'"));
}

TEST(NamedInputsTest, TextsHaveAnyType) {
  using Texts = std::vector<std::string>;
  const Texts preds = {"a b", "c"};
  const std::vector<Texts> target = {{"x", "a b"}, {"d"}};
  const std::vector<std::string_view> views(preds.begin(), preds.end());
  const std::vector<const char*> pointers = {"a b", "c"};
  const std::vector<std::vector<const char*>> lists = {{"x", "a b"}, {"d"}};
  testkit::SampleMatchRate metric;
  metric.update(preds, target);
  metric.update(views, lists);
  metric.update(pointers, Texts{"a b", "d"});
  metric.update({{"target", target}, {"preds", {"a b", "c"}}});
  metric.update({{"target", Texts{"c"}}, {"preds", "d"}});
  const std::unique_ptr<Metric> erased = metric.clone();
  EXPECT_EQ(metric.compute().item<double>(), 4 / 9.0);
  erased->reset();
  erased->update(preds, target);
  erased->update(views, lists);
  erased->update(pointers, Texts{"a b", "d"});
  erased->update("c", Texts{"c"});
  erased->update(std::string("d"), std::vector<TextList>{"c"});
  erased->update(TextList(views), TextLists(lists));
  EXPECT_EQ(erased->compute_results().value().item<double>(), 5 / 10.0);
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] { erased->update(kPreds, target); }),
      HasSubstr("SampleMatchRate: expected preds to be a tally::TextList, got "
                "an at::Tensor"));
  // The first of several.
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] { erased->update(kPreds, kPreds); }),
      HasSubstr("SampleMatchRate: expected preds to be"));
}

TEST(NamedInputsTest, RowsHaveAnyType) {
  const std::vector<testkit::SampleImage> images = {{at::ones({3, 4})},
                                                    {at::ones({0, 4})}};
  MetricCollection metrics;
  metrics.add("boxes", testkit::SampleMeanBoxes());
  metrics.add("loss", MeanMetric());
  metrics.update({{"value", 1}, {"images", images}});
  metrics.update({{"value", 1}, {"images", c10::makeArrayRef(images)}});
  EXPECT_EQ(metrics.compute()["boxes"].item<double>(), 1.5);
  testkit::SampleMeanBoxes alone;
  alone.update(images);
  EXPECT_EQ(alone.compute().item<double>(), 1.5);
}

THREAD_RANKS_TEST(NamedInputsTest, AreRefusedOnEveryRank, 2) {
  MetricCollection metrics(MetricOptions().dist_sync_on_step(true));
  metrics.add("mse", MeanSquaredError());
  metrics.add("loss", MeanMetric());
  const bool is_first = self.rank() == 0;
  EXPECT_ANY_THROW(metrics.forward({{"preds", kPreds},
                                    {is_first ? "targets" : "target", kPreds},
                                    {"value", 1}}));
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
  metrics.forward({{"preds", kPreds}, {"target", kPreds}, {"value", 1}});
  EXPECT_EQ(metrics.update_count(), 1);
}

}  // namespace
}  // namespace tally
