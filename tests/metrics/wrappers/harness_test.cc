#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tally/metrics/aggregation/running_metrics.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

// What the harness checks of all metrics, for each wrapper: with fixtures of
// the metric inside where the wrapper does not change the value.
namespace tally {
namespace {

using testkit::FixtureCase;
using testkit::HarnessOptions;
using testkit::MetricFactory;
using testkit::OptionTexts;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
OwnedMetric made(const OptionTexts& texts, const MetricOptions& options) {
  auto parsed = internal::unset_options<typename M::Options>();
  parse_options(parsed, M::kName, texts);
  return OwnedMetric(std::make_unique<M>(parsed, options));
}

FixtureCase case_of(std::vector<testkit::Batch> batches) {
  FixtureCase one;
  one.name = "by_hand";
  one.batches = std::move(batches);
  one.rtol = 1e-12;
  return one;
}

TEST(RunningTest, PassesTheHarnessOfTheMetricInside) {
  const MetricFactory factory = [](const OptionTexts& texts,
                                   const MetricOptions& options) {
    return std::make_unique<Running>(made<MeanSquaredError>(texts, options),
                                     16);
  };
  testkit::check_fixture("MeanSquaredError", factory, {});
}

TEST(RunningTest, PassesTheHarnessWithAMergeOfTheMetricsOwn) {
  FixtureCase one = case_of(
      {{at::tensor({1.0, 2.0, 4.0}), at::tensor({2.0, 1.0, 3.0})},
       {at::tensor({5.0, 3.0, 0.0, 2.0}), at::tensor({4.0, 4.0, 1.0, 0.0})}});
  // numpy.corrcoef
  one.expected[""] = at::scalar_tensor(0.7132758280973012, at::kDouble);
  HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_case(
      one,
      [](const OptionTexts& texts, const MetricOptions& metric_options) {
        return std::make_unique<Running>(
            made<PearsonCorrCoef>(texts, metric_options), 16);
      },
      options);
}

TEST(RunningMeanTest, PassesTheHarness) {
  FixtureCase one =
      case_of({{at::tensor({1.0, 2.0}), at::tensor({1.0, 3.0})},
               {at::tensor({4.0, 8.0, 16.0}), at::tensor({1.0, 0.0, 1.0})}});
  one.options["window"] = "16";
  one.expected[""] = at::scalar_tensor(27.0 / 6, at::kDouble);
  HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_case(
      one,
      [](const OptionTexts& texts, const MetricOptions& metric_options) {
        RunningAggregationOptions parsed;
        parse_options(parsed, RunningMean::kName, texts);
        return std::make_unique<RunningMean>(parsed, metric_options);
      },
      options);
}

TEST(LambdaInputTransformerTest, PassesTheHarnessOfTheMetricInside) {
  const MetricFactory factory = [](const OptionTexts& texts,
                                   const MetricOptions& options) {
    const auto same = [](const at::Tensor& input) { return input; };
    return std::make_unique<LambdaInputTransformer>(
        made<MeanSquaredError>(texts, options),
        LambdaInputTransformerOptions("same").preds(same).target(same));
  };
  testkit::check_fixture("MeanSquaredError", factory, {});
}

TEST(BinaryTargetTransformerTest, PassesTheHarness) {
  FixtureCase one =
      case_of({{at::tensor({0.5, 1.0}), at::tensor({1.0, 3.0})},
               {at::tensor({0.25, 0.0, 2.0}), at::tensor({2.0, 2.5, kNaN})}});
  // The targets are 0, 1, 0, 1, 0.
  one.expected[""] =
      at::scalar_tensor((0.25 + 0 + 0.0625 + 1 + 4) / 5, at::kDouble);
  testkit::check_case(
      one,
      [](const OptionTexts& texts, const MetricOptions& metric_options) {
        return std::make_unique<BinaryTargetTransformer>(
            made<MeanSquaredError>(texts, metric_options), 2);
      },
      {});
}

TEST(MultioutputWrapperTest, PassesTheHarness) {
  FixtureCase one = case_of({{at::tensor({1.0, 2.0, kNaN, 4.0}).reshape({2, 2}),
                              at::tensor({1.0, 4.0, 0.0, 5.0}).reshape({2, 2})},
                             {at::tensor({3.0, 0.0}).reshape({1, 2}),
                              at::tensor({0.0, 2.0}).reshape({1, 2})}});
  one.expected[""] = at::tensor({(0.0 + 9) / 2, (4.0 + 1 + 4) / 3});
  HarnessOptions options;
  // NaN has no numerical gradient.
  options.skip_gradients = {"by_hand"};
  const MetricFactory factory = [](const OptionTexts& texts,
                                   const MetricOptions& metric_options) {
    return std::make_unique<MultioutputWrapper>(
        made<MeanSquaredError>(texts, metric_options), 2);
  };
  testkit::check_case(one, factory, options);
  one.batches[0][0].tensor()[1][0] = 2.0;
  one.expected[""] = at::tensor({(0.0 + 4 + 9) / 3, (4.0 + 1 + 4) / 3});
  testkit::check_case(one, factory);
}

TEST(ClasswiseWrapperTest, PassesTheHarness) {
  FixtureCase one = case_of({{at::tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2}),
                              at::tensor({1.0, 4.0, 0.0, 5.0}).reshape({2, 2})},
                             {at::tensor({3.0, 0.0}).reshape({1, 2}),
                              at::tensor({0.0, 2.0}).reshape({1, 2})}});
  one.options["num_outputs"] = "2";
  one.expected["error_of_a"] =
      at::scalar_tensor((0.0 + 9 + 9) / 3, at::kDouble);
  one.expected["error_of_b"] =
      at::scalar_tensor((4.0 + 1 + 4) / 3, at::kDouble);
  testkit::check_case(
      one, [](const OptionTexts& texts, const MetricOptions& metric_options) {
        return std::make_unique<ClasswiseWrapper>(
            made<MeanSquaredError>(texts, metric_options),
            ClasswiseWrapperOptions({"a", "b"}).prefix("error_of_"));
      });
}

TEST(MinMaxMetricTest, PassesTheHarness) {
  FixtureCase one =
      case_of({{at::tensor({1.0, 2.0}), at::tensor({1.0, 4.0})},
               {at::tensor({0.0, 1.0, 1.0}), at::tensor({3.0, 1.0, 2.0})}});
  for (const char* name : {"raw", "min", "max"}) {
    one.expected[name] = at::scalar_tensor(14.0 / 5, at::kDouble);
  }
  HarnessOptions options;
  options.outlasts_reset = true;
  // min and max have no gradient.
  options.skip_gradients = {"by_hand"};
  testkit::check_case(
      one,
      [](const OptionTexts& texts, const MetricOptions& metric_options) {
        return std::make_unique<MinMaxMetric>(
            made<MeanSquaredError>(texts, metric_options));
      },
      options);
}

TEST(WrappersTest, PassTheHarnessOverTexts) {
  const FixtureCase one =
      testkit::read_fixture("samples/SampleMatchRate").front();
  testkit::check_case(
      one, [](const OptionTexts&, const MetricOptions& metric_options) {
        return std::make_unique<Running>(
            testkit::SampleMatchRate({}, metric_options), 16);
      });
}

TEST(BootStrapperTest, ResamplesTextsAndRaggedRows) {
  const std::vector<std::string> preds = {"a", "b", "c", "d"};
  const std::vector<std::vector<std::string>> target = {
      {"a"}, {"x", "b"}, {"z"}, {}};
  BootStrapper rate(testkit::SampleMatchRate(),
                    BootStrapperOptions(20).raw(true));
  for (int i = 0; i < 50; ++i) rate.update(preds, target);
  const Results results = rate.compute();
  EXPECT_NEAR(results["mean"].item<double>(), 0.5, 0.05);
  EXPECT_GT(results["std"].item<double>(), 0);
  // A row is drawn with its references.
  BootStrapper all(testkit::SampleMatchRate(), BootStrapperOptions(5));
  for (int i = 0; i < 10; ++i) {
    all.update({{"target", preds}, {"preds", preds}});
  }
  EXPECT_EQ(all.compute()["mean"].item<double>(), 1);

  const std::vector<testkit::SampleImage> images = {{at::ones({1, 4})},
                                                    {at::ones({3, 4})}};
  BootStrapper boxes(testkit::SampleMeanBoxes(), BootStrapperOptions(20));
  for (int i = 0; i < 50; ++i) boxes.update(images);
  EXPECT_NEAR(boxes.compute()["mean"].item<double>(), 2, 0.2);
  EXPECT_THAT(testkit::refusal_of(
                  [&] { all.update(preds, std::vector<std::string>{"a"}); }),
              ::testing::HasSubstr("expected as many preds as target"));
}

TEST(WrappersTest, RefuseTextsWhereTheyNeedTensors) {
  const std::vector<std::string> texts = {"a"};
  MultioutputWrapper outputs(testkit::SampleMatchRate(), 2);
  EXPECT_THAT(
      testkit::refusal_of<c10::TypeError>(
          [&] { outputs.update(texts, texts); }),
      ::testing::HasSubstr("MultioutputWrapper: expected preds to be an "
                           "at::Tensor, got a std::vector"));
  LambdaInputTransformer changed(
      testkit::SampleMatchRate(),
      LambdaInputTransformerOptions("same").preds(
          [](const at::Tensor& preds) { return preds; }));
  EXPECT_THAT(testkit::refusal_of<c10::TypeError>(
                  [&] { changed.update(texts, texts); }),
              ::testing::HasSubstr("LambdaInputTransformer: expected preds to "
                                   "be an at::Tensor, got a std::vector"));
}

}  // namespace
}  // namespace tally
