#include "tally/metrics/registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/metric_of.h"
#include "tally/sync/errors.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const c10::ValueError& error) {
    return sync::describe(error);
  }
  return "nothing";
}

std::string error_of_making(const std::string& text) {
  return error_of([&] { make_metric(text); });
}

/// A text with which each metric can be made.
std::string example_of(const MetricEntry& entry) {
  return entry.name + "(" + entry.summary.required + ")";
}

TEST(RegistryTest, EveryMetricIsMadeFromItsOwnRepr) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const auto metric = make_metric(example_of(entry));
    EXPECT_EQ(metric->name(), name);
    const auto again = make_metric(metric->repr());
    EXPECT_EQ(again->repr(), metric->repr());
    EXPECT_EQ(again->state_key(), metric->state_key());
  }
}

TEST(RegistryTest, EveryMetricIsDescribed) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const std::string what = entry.summary.what;
    EXPECT_EQ(what.back(), '.');
    EXPECT_LT(what.size(), 79u);
    EXPECT_NE(entry.summary.range, std::string());
    bool optional = false;
    for (const MetricInput& input :
         builtin_registry().inputs(example_of(entry))) {
      EXPECT_TRUE(input.takes_int || input.takes_float) << input.name;
      EXPECT_TRUE(input.is_optional || !optional) << input.name;
      optional = input.is_optional;
    }
    const auto metric = make_metric(example_of(entry));
    if (entry.is_differentiable) {
      EXPECT_EQ(*entry.is_differentiable, metric->is_differentiable());
    }
  }
}

TEST(RegistryTest, RequiredOptionsAreThoseWithoutAValidDefault) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    if (parse_metric_spec(example_of(entry)).options.empty()) {
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
            "there is no metric 'MulticlasAccuracy'; did you mean "
            "'MulticlassAccuracy'?");
  EXPECT_EQ(error_of_making("Bananas"), "there is no metric 'Bananas'");
  EXPECT_EQ(error_of_making("MulticlassAccuracy(num_clases=5)"),
            "MulticlassAccuracy: option 'num_classes' is required; for example "
            "MulticlassAccuracy(num_classes=5)");
  EXPECT_EQ(error_of_making("MulticlassAccuracy(num_classes=5, avrage=micro)"),
            "MulticlassAccuracy: there is no option 'avrage'; did you mean "
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

struct Wrapped {
  Wrapped() = default;
  explicit Wrapped(std::unique_ptr<Metric> metric)
      : metric_(std::move(metric)) {}
  void visit(OptionVisitor& v) {
    std::string text = metric_ ? metric_->repr() : "none";
    v("metric", text);
    v("label", label_);
  }
  std::shared_ptr<Metric> metric_;
  std::string label_ = "x";
};

struct WrappedSum {
  using Options = Wrapped;
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor&) const { return {}; }
};

struct Wrapper final : MetricOf<Wrapper, WrappedSum, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "Wrapper";
  at::Tensor evaluate(const State& state) const { return state.sum.tensor(); }
};

Registry registry_with_wrapper() {
  Registry registry = builtin_registry();
  registry.add_wrapper<Wrapper>(
      {"What it wraps.", "as metric", "any", "metric=MeanSquaredError()"});
  return registry;
}

TEST(RegistryTest, WrappersNest) {
  const Registry registry = registry_with_wrapper();
  const std::string text =
      "Wrapper(metric=Wrapper(label=\"a), \\\"b\", metric="
      "MulticlassLogLoss(num_classes=3)))";
  const auto metric = registry.make(
      text,
      MetricOptions().nan_policy(NanPolicy::kIgnore).sync_on_compute(false));
  EXPECT_EQ(registry.make(metric->repr())->repr(), metric->repr());
  EXPECT_THAT(metric->repr(), HasSubstr("label=\"a), \\\"b\""));
  const auto& inner = *static_cast<Wrapper&>(*metric).options().metric_;
  EXPECT_EQ(inner.metric_options().nan_policy(), NanPolicy::kIgnore);
  EXPECT_TRUE(inner.metric_options().sync_on_compute());
  const auto inputs = registry.inputs(text);
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].name, "preds");
  EXPECT_TRUE(inputs[0].takes_float);
  EXPECT_FALSE(inputs[0].takes_int);
  EXPECT_TRUE(inputs[2].is_optional);
  EXPECT_EQ(registry.at("Wrapper").is_differentiable, std::nullopt);
}

TEST(RegistryTest, WhatIsWrongInANestedMetricIsSaid) {
  const Registry registry = registry_with_wrapper();
  EXPECT_THAT(error_of([&] { registry.make("Wrapper"); }),
              HasSubstr("Wrapper: option 'metric' is required"));
  EXPECT_THAT(error_of([&] { registry.inputs("Wrapper"); }),
              HasSubstr("Wrapper: option 'metric' is required"));
  EXPECT_THAT(error_of([&] { registry.make("Wrapper(metric=MaxMetrik)"); }),
              HasSubstr("did you mean 'MaxMetric'?"));
  std::string deep = "MaxMetric";
  for (int i = 0; i < 17; ++i) deep = "Wrapper(metric=" + deep + ")";
  EXPECT_THAT(error_of([&] { registry.make(deep); }),
              HasSubstr("nested at most 16 times"));
  EXPECT_THAT(error_of([&] { registry.inputs(deep); }),
              HasSubstr("nested at most 16 times"));
}

TEST(RegistryTest, HasEachNameOnce) {
  Registry registry = registry_with_wrapper();
  EXPECT_EQ(error_of([&] {
              registry.add_wrapper<Wrapper>({"What.", "as metric", "any"});
            }),
            "expected one metric of each name, got 'Wrapper' twice");
}

}  // namespace
}  // namespace tally
