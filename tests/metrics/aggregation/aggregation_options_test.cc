#include "tally/metrics/aggregation/aggregation_options.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Collects the warnings of the current scope.
class Warnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    texts.push_back(warning.msg());
  }
  std::vector<std::string> texts;
};

double sum_of_nan_and_two(const AggregationOptions& options,
                          NanPolicy policy = NanPolicy::kPropagate) {
  SumMetric sum(options, MetricOptions().nan_policy(policy));
  sum.update(at::tensor({kNaN, 2.0}));
  return sum.compute().item<double>();
}

TEST(AggregationOptionsTest, StrategiesDecideWhatHappensToNan) {
  EXPECT_EQ(sum_of_nan_and_two(NanStrategy::kIgnore), 2);
  EXPECT_EQ(sum_of_nan_and_two(NanStrategy::kWarn), 2);
  EXPECT_TRUE(std::isnan(sum_of_nan_and_two(NanStrategy::kDisable)));
  EXPECT_EQ(sum_of_nan_and_two(NanStrategy::kReplace), 2);
  EXPECT_EQ(sum_of_nan_and_two(
                AggregationOptions(NanStrategy::kReplace).nan_value(0.5)),
            2.5);
  EXPECT_THROW(sum_of_nan_and_two(NanStrategy::kError), c10::ValueError);
}

TEST(AggregationOptionsTest, ErrorNamesTheInputAndChangesNothing) {
  MeanMetric mean(NanStrategy::kError);
  mean.update(3.0, 2);
  try {
    mean.update(at::tensor({1.0}), at::tensor({kNaN}));
    FAIL() << "a NaN was accepted";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("expected weight without NaN, got some"));
    EXPECT_THAT(error.what(), HasSubstr("MeanMetric"));
  }
  EXPECT_EQ(mean.update_count(), 1);
  EXPECT_EQ(mean.compute().item<double>(), 3);
}

TEST(AggregationOptionsTest, WarnsOfNanOnly) {
  Warnings warnings;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    SumMetric sum;
    sum.update(at::tensor({1.0, 2.0}));
    sum.compute();
    EXPECT_TRUE(warnings.texts.empty());
    sum.update(at::tensor({1.0, kNaN}));
    sum.compute();
    for (const auto strategy :
         {NanStrategy::kIgnore, NanStrategy::kDisable, NanStrategy::kReplace}) {
      SumMetric other(strategy);
      other.update(at::tensor({kNaN}));
      other.compute();
    }
  }
  ASSERT_EQ(warnings.texts.size(), 1);
  EXPECT_THAT(warnings.texts[0],
              HasSubstr("SumMetric: NaN was ignored in 1 of 4 rows, first row "
                        "3; choose"));
}

TEST(AggregationOptionsTest, NanPolicyCountsWhereTheStrategyIsTheDefault) {
  const AggregationOptions untouched;
  EXPECT_THROW(sum_of_nan_and_two(untouched, NanPolicy::kError),
               c10::ValueError);
  EXPECT_EQ(sum_of_nan_and_two(untouched, NanPolicy::kIgnore), 2);
  EXPECT_EQ(sum_of_nan_and_two(NanStrategy::kReplace, NanPolicy::kError), 2);
  EXPECT_TRUE(std::isnan(
      sum_of_nan_and_two(NanStrategy::kDisable, NanPolicy::kIgnore)));
}

TEST(AggregationOptionsTest, RefusesNanInThePlaceOfNan) {
  try {
    SumMetric sum(AggregationOptions(NanStrategy::kReplace).nan_value(kNaN));
    FAIL() << "a NaN was accepted";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(
        error.what_without_backtrace(),
        HasSubstr("SumMetric: expected nan_value to be a number, got NaN"));
  }
}

TEST(AggregationOptionsTest, AreParsedAndPrinted) {
  AggregationOptions options;
  parse_options(options, "SumMetric",
                {{"nan_strategy", "replace"}, {"nan_value", "-1.5"}});
  EXPECT_EQ(SumMetric(options).repr(),
            "SumMetric(nan_strategy=replace, nan_value=-1.5)");
}

}  // namespace
}  // namespace tally
