#include "tally/metrics/wrappers/wrappers.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
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
using testkit::run_thread_ranks;
using testkit::same_bits;
using testkit::SampleExtent;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MeanSquaredError two_errors() {
  return MeanSquaredError(MeanSquaredErrorOptions().num_outputs(2));
}

TEST(WrapperMetricTest, TakesAMetricOver) {
  const MeanMetric mean;
  EXPECT_EQ(Running(mean.clone(), 3).repr(),
            "Running(metric=MeanMetric(nan_strategy=warn, nan_value=0), "
            "window=3)");
  EXPECT_THAT(refusal_of<c10::Error>(
                  [] { Running none(std::unique_ptr<Metric>(), 3); }),
              HasSubstr("Running: expected a metric, got null"));
  MeanMetric used;
  used.update(1.0);
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { MinMaxMetric wrapper(std::move(used)); }),
      HasSubstr("MinMaxMetric: expected a metric that has accumulated "
                "nothing, got MeanMetric("));
}

TEST(WrapperMetricTest, TakesTheOptionsOfTheMetricOver) {
  Running running(
      MeanSquaredError({}, MetricOptions().sync_on_compute(false).nan_policy(
                               NanPolicy::kIgnore)),
      2);
  EXPECT_FALSE(running.metric_options().sync_on_compute());
  EXPECT_TRUE(running.metric().metric_options().sync_on_compute());
  running.update(at::tensor({1.0, kNaN}), at::tensor({3.0, 0.0}));
  EXPECT_EQ(number(running.compute()), 4);

  Running strict(MeanSquaredError(), 2);
  strict.set_metric_options(MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_NE(strict.state_key(), Running(MeanSquaredError(), 2).state_key());
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                strict.update(at::tensor({kNaN}), at::tensor({0.0}));
              }),
              HasSubstr("MeanSquaredError"));
  EXPECT_EQ(strict.clone()->metric_options().nan_policy(), NanPolicy::kError);
}

TEST(WrapperMetricTest, HasTheDtypeAskedFor) {
  MinMaxMetric metric{MeanMetric()};
  metric.set_dtype(at::kFloat);
  metric.update(2.0);
  for (const auto& [name, value] : metric.clone()->compute_results()) {
    EXPECT_EQ(value.scalar_type(), at::kFloat) << name;
  }
}

TEST(WrapperMetricTest, WrapsWrappers) {
  MinMaxMetric metric(Running(MeanMetric(), 2));
  for (const double value : {1.0, 3.0, 5.0}) {
    EXPECT_EQ(number(metric.forward(value)["raw"]), value);
  }
  EXPECT_EQ(number(metric.compute()["max"]), 4);
  EXPECT_EQ(metric.repr(),
            "MinMaxMetric(metric=Running(metric=MeanMetric(nan_strategy=warn, "
            "nan_value=0), window=2))");
  MinMaxMetric loaded(Running(MeanMetric(), 2));
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  loaded.update(-5.0);
  EXPECT_EQ(number(loaded.compute()["min"]), 0);
  EXPECT_EQ(number(loaded.compute()["max"]), 4);
}

TEST(WrapperMetricTest, TakesPartInArithmetic) {
  auto twice = 2 * Running(MeanMetric(), 2);
  for (const double value : {1.0, 3.0, 5.0}) twice.update(value);
  EXPECT_EQ(number(twice.compute()), 8);
}

MetricCollection all_around_means() {
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("extremes", MinMaxMetric(MeanMetric()));
  metrics.add("lately", RunningMean(2));
  metrics.add("lately_too", Running(MeanMetric(), 2));
  metrics.add("positive",
              LambdaInputTransformer(
                  MeanMetric(), LambdaInputTransformerOptions("abs").preds(
                                    [](const auto& x) { return x.abs(); })));
  return metrics;
}

THREAD_RANKS_TEST(WrapperMetricTest, SyncsInACollectionByOneCollective, 1, 2, 3,
                  5) {
  MetricCollection metrics = all_around_means();
  EXPECT_EQ(metrics.groups().size(), 3);
  // Rank r sees r and -2 r; the last rank nothing, if there are others.
  const int rank = self.rank();
  if (self.size() == 1 || rank + 1 < self.size()) {
    metrics.update(1.0 * rank);
    EXPECT_EQ(number(metrics.forward(-2.0 * rank)["lately"]), -2 * rank);
  }
  const Results local = metrics.state();
  Results results = metrics.compute();
  EXPECT_EQ(self.group()->collectives(), self.size() > 1 ? 1 : 0);
  const int seen = std::max(self.size() - 1, 1);
  const double mean = -(seen - 1) / 4.0;
  for (const char* name :
       {"mean", "extremes.raw", "extremes.max", "lately", "lately_too"}) {
    EXPECT_DOUBLE_EQ(number(results[name]), mean) << name;
  }
  EXPECT_DOUBLE_EQ(number(results["positive"]), 3 * (seen - 1) / 4.0);
  EXPECT_EQ(metrics.groups()[1],
            (std::vector<std::string>{"lately", "lately_too"}));
  metrics.sync();
  EXPECT_TRUE(same_bits(metrics.compute(), results));
  metrics.unsync();
  for (const auto& [name, value] : local) {
    if (name.find("computed") == std::string::npos) {
      EXPECT_TRUE(same_bits(metrics.state()[name], value)) << name;
    }
  }
  MetricCollection loaded = all_around_means();
  ASSERT_TRUE(loaded.deserialize(metrics.clone().serialize()).ok());
  EXPECT_TRUE(same_bits(loaded.state(), metrics.state()));
}

THREAD_RANKS_TEST(WrapperMetricTest, SyncsWhileOthersCompute, 2) {
  Running running(MeanMetric(), 2);
  running.update(1.0 + 2 * self.rank());
  auto pending = running.sync_async();
  running.update(100.0);
  EXPECT_EQ(number(pending.wait()), 2);
  MinMaxMetric alone{MeanMetric()};
  alone.set_metric_options(
      MetricOptions().communicator(sync::single_process_communicator()));
  alone.update(3.0);
  EXPECT_EQ(number(alone.sync_async().wait()["raw"]), 3);
}

// Large sums are reduced by the communicator where each part is one.
TEST(WrapperMetricTest, SyncsLargeStates) {
  constexpr std::int64_t kRows = 1 << 18;
  run_thread_ranks(3, [](const auto& communicator) {
    const int rank = communicator->rank();
    const at::Tensor values = at::ones({kRows, 2}, at::kDouble).mul(rank + 1);
    MultioutputWrapper sums{testkit::SampleTensorSum(),
                            MultioutputWrapperOptions(2).remove_nans(false)};
    Running lately(testkit::SampleTensorSum(), 2);
    MultioutputWrapper means(Running(MeanMetric(), 2), 2);
    for (int i = 0; i < 3 && rank != 1; ++i) {
      sums.update(values);
      lately.update(values);
      means.update(values);
    }
    const auto all = [](const at::Tensor& tensor, double value) {
      return tensor.eq(value).all().template item<bool>();
    };
    EXPECT_TRUE(all(sums.compute().value(), 12));
    EXPECT_TRUE(all(lately.compute().value(), 8));
    EXPECT_TRUE(all(means.compute().value(), 2));
  });
}

TEST(ClasswiseWrapperTest, NamesTheClasses) {
  const auto names = [](ClasswiseWrapperOptions options) {
    ClasswiseWrapper wrapper(two_errors(), std::move(options));
    wrapper.update(at::ones({1, 2}), at::ones({1, 2}));
    std::vector<std::string> found;
    for (const auto& [name, value] : wrapper.compute()) found.push_back(name);
    return found;
  };
  EXPECT_THAT(names({}),
              ElementsAre("meansquarederror_0", "meansquarederror_1"));
  EXPECT_THAT(names({{"x", "y"}}),
              ElementsAre("meansquarederror_x", "meansquarederror_y"));
  EXPECT_THAT(names(ClasswiseWrapperOptions({"x", "y"}).prefix("e/")),
              ElementsAre("e/x", "e/y"));
  EXPECT_THAT(names(ClasswiseWrapperOptions().postfix("th")),
              ElementsAre("0th", "1th"));
}

TEST(ClasswiseWrapperTest, GivesValuesThatMayBeChanged) {
  ClasswiseWrapper wrapper(two_errors(), {});
  wrapper.update(columns({1, 2}, 2), columns({1, 4}, 2));
  const Results results = wrapper.compute();
  const at::Tensor first = results["meansquarederror_0"];
  EXPECT_FALSE(first.is_view());
  first.fill_(7);
  EXPECT_EQ(number(results["meansquarederror_1"]), 4);
  EXPECT_EQ(number(wrapper.compute()["meansquarederror_0"]), 0);
}

TEST(ClasswiseWrapperTest, SharesTheStateOfTheMetric) {
  MetricCollection metrics;
  metrics.add("error", two_errors());
  metrics.add("of", ClasswiseWrapper(two_errors(),
                                     ClasswiseWrapperOptions({"x", "y"})));
  EXPECT_EQ(metrics.groups().size(), 1);
  metrics.update(columns({1, 2}, 2), columns({1, 4}, 2));
  EXPECT_EQ(number(metrics.compute()["of.meansquarederror_y"]), 4);
}

TEST(ClasswiseWrapperTest, ReadsAndChecksItsOptions) {
  ClasswiseWrapperOptions options;
  parse_options(options, "C", {{"labels", "[horse, big fish]"}});
  EXPECT_THAT(options.labels(), ElementsAre("horse", "big fish"));
  EXPECT_EQ(options_repr(options),
            "labels=[horse, big fish], prefix=\"\", postfix=\"\"");
  EXPECT_EQ(options_repr(ClasswiseWrapperOptions()),
            "labels=[], prefix=\"\", postfix=\"\"");
  // With whatever is in them.
  std::string repr = options_repr(ClasswiseWrapperOptions({"a, b", "\"c\"]"}));
  EXPECT_EQ(repr, R"(labels=["a, b", "\"c\"]"], prefix="", postfix="")");
  parse_options(options, "C",
                {{"labels", R"(["a, b", "\"c\"]"])"}, {"prefix", ""}});
  EXPECT_EQ(options_repr(options), repr);
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                parse_options(options, "C", {{"labels", "a"}});
              }),
              HasSubstr("option 'labels': expected a list such as [one, two], "
                        "got 'a'"));
  const auto refusal = [](std::vector<std::string> labels) {
    return refusal_of<c10::Error>(
        [&] { ClasswiseWrapper wrapper(two_errors(), labels); });
  };
  EXPECT_THAT(refusal({"a", "a"}),
              HasSubstr("expected different labels, got 'a' twice"));
  EXPECT_THAT(refusal({"a", ""}), HasSubstr("expected labels that are not"));
}

TEST(ClasswiseWrapperTest, RefusesValuesThatFitNoLabels) {
  ClasswiseWrapper one(MeanMetric(), {});
  EXPECT_THAT(refusal_of<c10::Error>([&] { one.compute(); }),
              HasSubstr("ClasswiseWrapper: expected one value for each class "
                        "of MeanMetric("));
  ClasswiseWrapper three(two_errors(), std::vector<std::string>{"a", "b", "c"});
  EXPECT_THAT(refusal_of<c10::Error>([&] { three.compute(); }),
              HasSubstr("expected a label for each of 2 classes, got 3"));
}

TEST(MinMaxMetricTest, FollowsWhatComputeGives) {
  MinMaxMetric metric{MeanMetric()};
  const auto check = [&](double raw, double min, double max) {
    const Results results = metric.compute();
    EXPECT_EQ(number(results["raw"]), raw);
    EXPECT_EQ(number(results["min"]), min);
    EXPECT_EQ(number(results["max"]), max);
  };
  metric.update(4.0);
  check(4, 4, 4);
  check(4, 4, 4);
  metric.update(2.0);
  check(3, 3, 4);
  metric.reset();
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  metric.update(9.0);
  check(9, 3, 9);
  MinMaxMetric loaded{MeanMetric()};
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  loaded.reset();
  loaded.update(1.0);
  EXPECT_EQ(number(loaded.compute()["max"]), 9);
  metric.merge_state(loaded);
  check(5, 1, 9);
  EXPECT_EQ(number(metric.clone()->compute_results()["min"]), 1);
}

// TorchMetrics' gives 1: its forward() resets the metric inside.
TEST(MinMaxMetricTest, ForwardLosesNothing) {
  MinMaxMetric metric{SumMetric()};
  for (int i = 0; i < 4; ++i) {
    const Results batch = metric.forward(at::ones({1}));
    for (const auto& [name, value] : batch) EXPECT_EQ(number(value), 1) << name;
  }
  EXPECT_EQ(number(metric.compute()["raw"]), 4);
  EXPECT_EQ(number(metric.compute()["min"]), 4);
}

TEST(MinMaxMetricTest, LeavesNanOut) {
  MinMaxMetric metric{MeanMetric()};
  const Results before = metric.compute();
  EXPECT_TRUE(std::isnan(number(before["raw"])));
  EXPECT_EQ(number(before["min"]), kInfinity);
  EXPECT_EQ(number(before["max"]), -kInfinity);
  metric.update(2.0);
  EXPECT_EQ(number(metric.compute()["max"]), 2);
  metric.update(kInfinity);
  EXPECT_EQ(number(metric.compute()["max"]), kInfinity);
  EXPECT_EQ(number(metric.compute()["min"]), 2);
}

TEST(MinMaxMetricTest, GoesElementByElement) {
  MinMaxMetric metric(two_errors());
  metric.update(columns({1, 2}, 2), columns({1, 0}, 2));
  metric.compute();
  metric.reset();
  metric.update(columns({1, 2}, 2), columns({0, 2}, 2));
  EXPECT_TRUE(same_bits(metric.compute()["min"], at::tensor({0.0, 0.0})));
  EXPECT_TRUE(same_bits(metric.compute()["max"], at::tensor({1.0, 4.0})));
}

TEST(MinMaxMetricTest, RefusesOtherResults) {
  MinMaxMetric two{SampleExtent()};
  EXPECT_THAT(refusal_of<c10::Error>([&] { two.compute(); }),
              HasSubstr("MinMaxMetric: expected SampleExtent() to return one "
                        "tensor, got 2"));
  MinMaxMetric all{CatMetric()};
  all.update(1.0);
  all.compute();
  all.update(2.0);
  EXPECT_THAT(refusal_of<c10::Error>([&] { all.compute(); }),
              HasSubstr("expected values of one shape, got [2] after [1]"));
  EXPECT_EQ(all.update_count(), 2);
}

THREAD_RANKS_TEST(MinMaxMetricTest, IsTheSameOnAllRanks, 3) {
  const int rank = self.rank();
  MetricCollection metrics;
  metrics.add("m", MinMaxMetric(MeanMetric()));
  if (rank > 0) metrics.update(3.0 * rank);
  EXPECT_EQ(number(metrics.compute()["m.max"]), 4.5);
  metrics.reset();
  metrics.update(1.0 * rank);
  EXPECT_EQ(number(metrics.compute()["m.min"]), 1);
  EXPECT_EQ(number(metrics.compute()["m.max"]), 4.5);
  EXPECT_EQ(self.group()->collectives(), 3);
  {
    SyncScope scope(metrics);
    EXPECT_EQ(number(metrics.compute()["m.max"]), 4.5);
  }

  MinMaxMetric own(MeanMetric({}, MetricOptions().sync_on_compute(false)));
  own.update(1.0 * rank);
  EXPECT_EQ(number(own.compute()["max"]), rank);
  SyncScope scope(own);
  EXPECT_EQ(number(own.compute()["raw"]), 1);
  EXPECT_EQ(number(own.compute()["min"]), 0);
  EXPECT_EQ(number(own.compute()["max"]), 2);
}

}  // namespace
}  // namespace tally
