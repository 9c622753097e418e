#include "tally/metrics/registry/registry.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/value_of.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of_making(const std::string& text) {
  return refusal_of([&] { make_metric(text); });
}

/// A text with which each metric can be made.
TEST(RegistryTest, SizesAreCheckedBeforeAnythingIsMade) {
  const auto error = [](const char* text) {
    return testkit::refusal_of(
        [&] { builtin_registry().check_sizes(text, 1000); });
  };
  EXPECT_EQ(error("MulticlassAccuracy(num_classes=1000, ignore_index=-5000)"),
            "nothing");
  EXPECT_EQ(error("MulticlassAccuracy(num_classes=5000)"),
            "MulticlassAccuracy: option 'num_classes': expected at most 1000 "
            "for this amount of data, got 5000");
  EXPECT_EQ(error("BinaryAUROC(thresholds=[5000, 6000])"), "nothing");
  for (const char* text :
       {"BinaryAUROC(thresholds=5000)", "BinaryCalibrationError(n_bins=5000)",
        "Running(metric=MeanMetric(), window=5000)",
        "BootStrapper(metric=MeanMetric(), num_bootstraps=5000)",
        "Running(metric=MinMaxMetric(metric=BinaryAUROC(thresholds=5000)))",
        "MultitaskWrapper(tasks={a: MeanMetric(), b: Running(metric="
        "MeanMetric(), window=5000)})"}) {
    EXPECT_THAT(error(text), HasSubstr("got 5000")) << text;
  }
}

TEST(RegistryTest, EveryMetricIsMadeFromItsOwnRepr) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const auto metric = make_metric(entry.example());
    EXPECT_EQ(metric->name(), name);
    const auto again = make_metric(metric->repr());
    EXPECT_EQ(again->repr(), metric->repr());
    EXPECT_EQ(again->state_key(), metric->state_key());
  }
}

TEST(RegistryTest, CollectionsTakeMetricsAsText) {
  MetricCollection metrics;
  metrics.add("f1", "MulticlassF1Score(num_classes=3, average=micro)");
  EXPECT_EQ(metrics["f1"].name(), "MulticlassF1Score");
  EXPECT_THAT(refusal_of([&] { metrics.add("rmse", "RMSE"); }),
              HasSubstr("MeanSquaredError"));
  EXPECT_EQ(metrics.size(), 1u);
}

TEST(RegistryTest, MetricsHaveAFunctionalForm) {
  const at::Tensor preds = at::tensor({0, 1, 2, 2});
  const at::Tensor target = at::tensor({0, 1, 1, 2});
  MulticlassF1Score f1(3);
  f1.update(preds, target);
  EXPECT_TRUE(
      value_of<MulticlassF1Score>(3, preds, target).equal(f1.compute()));
  EXPECT_EQ(
      value_of<MulticlassF1Score>(
          MulticlassF1ScoreOptions(3).average(Average::kNone), preds, target)
          .numel(),
      3);
  const at::Tensor x = at::ones({2}, at::kDouble).requires_grad_();
  value_of<MeanMetric>(x).backward();
  EXPECT_EQ(x.grad()[0].item<double>(), 0.5);
  EXPECT_EQ(value_of<MeanMetric>(0.25).item<double>(), 0.25);
  EXPECT_THAT(refusal_of([&] {
                value_of<MulticlassF1Score>(3, preds, target.narrow(0, 0, 2));
              }),
              HasSubstr("(MulticlassF1Score)"));
}

TEST(RegistryTest, OptionsOfOtherNamesAreAnswered) {
  EXPECT_EQ(error_of_making("BinaryCalibrationError(num_bins=5)"),
            "BinaryCalibrationError: unknown option 'num_bins'; here it is "
            "'n_bins'");
  EXPECT_EQ(error_of_making("MulticlassAccuracy(classes=3)"),
            "MulticlassAccuracy: unknown option 'classes'; here it is "
            "'num_classes'");
  EXPECT_EQ(make_metric("MeanAbsolutePercentageError(epsilon=0.5)")->repr(),
            "MeanAbsolutePercentageError(eps=0.5, num_outputs=1)");
}

TEST(RegistryTest, AveragesOverClassesAreNotOfSamples) {
  EXPECT_EQ(
      error_of_making("MulticlassF1Score(num_classes=3, average=samples)"),
      "MulticlassF1Score: option 'average': expected one of micro, macro, "
      "weighted, none, got 'samples'");
  EXPECT_EQ(
      refusal_of([] {
        MulticlassF1Score(
            MulticlassF1ScoreOptions(3).average(Average::kSamples));
      }),
      "MulticlassF1Score: option 'average': expected one of micro, macro, "
      "weighted, none, got 'samples'");
  EXPECT_EQ(error_of_making("MultilabelF1Score(num_labels=3, average=samples)"),
            "nothing");
}

TEST(RegistryTest, EveryMetricIsDescribed) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const std::string what = entry.summary.what;
    EXPECT_EQ(what.back(), '.');
    EXPECT_LT(what.size(), 79u);
    EXPECT_NE(entry.summary.range, std::string());
    bool optional = false;
    const auto metric = make_metric(entry.example());
    const auto inputs = builtin_registry().inputs(entry.example());
    ASSERT_EQ(inputs.size(), metric->inputs().size());
    EXPECT_FALSE(inputs.empty());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputInfo& input = inputs[i];
      EXPECT_EQ(input.name, std::string(metric->inputs()[i].name));
      EXPECT_EQ(input.kind, metric->inputs()[i].kind);
      EXPECT_NE(input.words, std::string());
      EXPECT_TRUE(input.is_optional || !optional) << input.name;
      optional = input.is_optional;
    }
    if (entry.is_differentiable) {
      EXPECT_EQ(*entry.is_differentiable, metric->is_differentiable());
    }
  }
}

TEST(RegistryTest, RequiredOptionsAreThoseWithoutAValidDefault) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    if (parse_metric_spec(entry.example()).options.empty()) {
      make_metric(name);
    } else {
      EXPECT_THAT(error_of_making(name),
                  AllOf(HasSubstr(name + ": option '"),
                        HasSubstr("' is required; for example " + name + "(")));
    }
  }
}

TEST(RegistryTest, UnknownNamesGetTheNearest) {
  EXPECT_EQ(error_of_making("MulticlasAccuracy(num_classes=5)"),
            "unknown metric 'MulticlasAccuracy'; did you mean "
            "'MulticlassAccuracy'?");
  EXPECT_EQ(error_of_making("Bananas"), "unknown metric 'Bananas'");
  EXPECT_EQ(error_of_making("MulticlassAccuracy(top_k=2)"),
            "MulticlassAccuracy: option 'num_classes' is required; for example "
            "MulticlassAccuracy(num_classes=5)");
  // A typo rather than what is missing for it.
  EXPECT_EQ(error_of_making("MulticlassAccuracy(num_class=5)"),
            "MulticlassAccuracy: unknown option 'num_class'; did you mean "
            "'num_classes'?");
  EXPECT_EQ(error_of_making("MulticlassAccuracy(num_classes=5, avrage=micro)"),
            "MulticlassAccuracy: unknown option 'avrage'; did you mean "
            "'average'?");
}

TEST(RegistryTest, OptionsAreSet) {
  EXPECT_EQ(make_metric("MulticlassAUROC(thresholds=[0.1,0.5], num_classes=3)")
                ->repr()
                .substr(0, 56),
            "MulticlassAUROC(num_classes=3, average=macro, thresholds");
  EXPECT_EQ(make_metric("MeanSquaredError",
                        MetricOptions().nan_policy(NanPolicy::kIgnore))
                ->metric_options()
                .nan_policy(),
            NanPolicy::kIgnore);
}

TEST(RegistryTest, OptionsAreDescribed) {
  const auto& options = builtin_registry().at("MulticlassAccuracy").options;
  ASSERT_EQ(options.size(), 6u);
  EXPECT_EQ(options[4].name, "average");
  EXPECT_EQ(options[4].text, "macro");
  EXPECT_THAT(options[4].expected, HasSubstr("one of micro, macro, weighted"));
  EXPECT_EQ(options[3].expected, "none or an integer");
}

TEST(RegistryTest, EveryOptionIsSaidInWords) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    for (const OptionInfo& option : entry.options) {
      SCOPED_TRACE(name + "." + option.name);
      ASSERT_FALSE(option.words.empty());
      EXPECT_EQ(option.words.back(), '.');
      EXPECT_LE(option.words.size(), 72u);
    }
  }
}

TEST(RegistryTest, WordsAreForOptionsThatAreThere) {
  Registry registry = builtin_registry();
  registry.describe_option("BinaryAccuracy", "threshold", "Half of it.");
  const OptionInfo& threshold = registry.at("BinaryAccuracy").options[0];
  EXPECT_EQ(threshold.name, "threshold");
  EXPECT_EQ(threshold.words, "Half of it.");
  EXPECT_THAT(refusal_of([&] {
                registry.describe_option("BinaryAccuracy", "treshold", "");
              }),
              HasSubstr("BinaryAccuracy: unknown option 'treshold'; did "
                        "you mean 'threshold'?"));
  EXPECT_THAT(refusal_of([&] { registry.describe_option("None", "a", ""); }),
              HasSubstr("unknown metric 'None'"));
}

TEST(RegistryTest, WrappersNest) {
  const std::string text =
      "ClasswiseWrapper(prefix=\"a), \\\"b\", metric=Running(window=2, metric="
      "MulticlassLogLoss(num_classes=3)))";
  const auto metric = make_metric(
      text,
      MetricOptions().nan_policy(NanPolicy::kIgnore).sync_on_compute(false));
  EXPECT_EQ(make_metric(metric->repr())->repr(), metric->repr());
  EXPECT_THAT(metric->repr(), HasSubstr("prefix=\"a), \\\"b\""));
  EXPECT_FALSE(metric->metric_options().sync_on_compute());
  const Metric& inner = static_cast<ClasswiseWrapper&>(*metric).metric();
  EXPECT_EQ(inner.metric_options().nan_policy(), NanPolicy::kIgnore);
  EXPECT_TRUE(inner.metric_options().sync_on_compute());
  const auto inputs = builtin_registry().inputs(text);
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].name, std::string("preds"));
  EXPECT_EQ(inputs[0].kind, InputKind::kFloat);
  EXPECT_TRUE(inputs[2].is_optional);
  const MetricEntry& entry = builtin_registry().at("ClasswiseWrapper");
  EXPECT_TRUE(entry.is_wrapper);
  EXPECT_EQ(entry.is_differentiable, std::nullopt);
  EXPECT_EQ(entry.options.front().name, "metric");
  // Of the metric, and ids.
  const auto resampled =
      builtin_registry().inputs("BootStrapper(metric=MeanSquaredError())");
  ASSERT_FALSE(resampled.empty());
  EXPECT_EQ(resampled.back().name, std::string("ids"));
  EXPECT_TRUE(resampled.back().is_optional);
}

TEST(RegistryTest, MetricsOfSeveralTasksAreMade) {
  const auto metric = make_metric(
      "MultitaskWrapper(tasks={age: MeanSquaredError(), job: "
      "MinMaxMetric(metric=MulticlassAccuracy(num_classes=3))}, prefix=val/)");
  EXPECT_EQ(make_metric(metric->repr())->repr(), metric->repr());
  EXPECT_EQ(metric->compute_results().size(), 4u);
}

TEST(RegistryTest, WhatIsWrongInANestedMetricIsSaid) {
  EXPECT_THAT(error_of_making("Running"),
              HasSubstr("Running: option 'metric' is required"));
  EXPECT_THAT(refusal_of([] { builtin_registry().inputs("Running"); }),
              HasSubstr("Running: option 'metric' is required"));
  EXPECT_THAT(error_of_making("Running(metric=MaxMetrik)"),
              HasSubstr("did you mean 'MaxMetric'?"));
  EXPECT_THAT(error_of_making("Running(metric=MaxMetric, windw=2)"),
              HasSubstr("Running: unknown option 'windw'; did you mean "
                        "'window'?"));
  std::string deep = "MaxMetric";
  for (int i = 0; i < 17; ++i) deep = "MinMaxMetric(metric=" + deep + ")";
  EXPECT_THAT(error_of_making(deep), HasSubstr("nested at most 16 times"));
  EXPECT_THAT(refusal_of([&] { builtin_registry().inputs(deep); }),
              HasSubstr("nested at most 16 times"));
}

TEST(RegistryTest, HasEachNameOnce) {
  Registry registry = builtin_registry();
  EXPECT_EQ(refusal_of([&] {
              registry.add_wrapper<Running>({"What.", "any"});
            }),
            "expected one metric of each name, got 'Running' twice");
}

}  // namespace
}  // namespace tally
