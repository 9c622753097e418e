#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/log_auc.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using testkit::check_metric;

TEST(CurveSummariesTest, MultilabelAUROCPassesTheHarness) {
  check_metric<MultilabelAUROC>("MultilabelAUROC");
}
TEST(CurveSummariesTest, AveragePrecisionPassesTheHarness) {
  check_metric<BinaryAveragePrecision>("BinaryAveragePrecision");
  check_metric<MulticlassAveragePrecision>("MulticlassAveragePrecision");
  check_metric<MultilabelAveragePrecision>("MultilabelAveragePrecision");
}
TEST(CurveSummariesTest, EERPassesTheHarness) {
  check_metric<BinaryEER>("BinaryEER");
  check_metric<MulticlassEER>("MulticlassEER");
  check_metric<MultilabelEER>("MultilabelEER");
}
TEST(CurveSummariesTest, LogAUCPassesTheHarness) {
  check_metric<BinaryLogAUC>("BinaryLogAUC");
  check_metric<MulticlassLogAUC>("MulticlassLogAUC");
  check_metric<MultilabelLogAUC>("MultilabelLogAUC");
}

template <class M>
double value_of(const typename M::Options& options, const at::Tensor& preds,
                const at::Tensor& target) {
  M metric(options);
  metric.update(preds, target);
  return metric.compute().template item<double>();
}

template <class M>
class CurveValueTest : public ::testing::Test {};
using BinaryValues = ::testing::Types<BinaryAUROC, BinaryAveragePrecision,
                                      BinaryEER, BinaryLogAUC>;
TYPED_TEST_SUITE(CurveValueTest, BinaryValues);

TYPED_TEST(CurveValueTest, ThresholdsAtAllScoresGiveTheExactValue) {
  const at::Tensor preds = at::randint(0, 33, {300}).div(32);
  const at::Tensor target = at::randint(0, 2, {300}, at::kLong);
  typename TypeParam::Options options;
  const double exact = value_of<TypeParam>(options, preds, target);
  EXPECT_DOUBLE_EQ(value_of<TypeParam>(options.thresholds(33), preds, target),
                   exact);
}

TYPED_TEST(CurveValueTest, IsNanWithoutDataAndPositives) {
  for (const Thresholds& thresholds : {Thresholds(), Thresholds(5)}) {
    typename TypeParam::Options options;
    TypeParam metric(options.thresholds(thresholds));
    EXPECT_TRUE(metric.compute().isnan().template item<bool>());
    metric.update(at::rand({4}), at::tensor({0, 0, 0, 0}));
    EXPECT_TRUE(metric.compute().isnan().template item<bool>());
  }
}

TYPED_TEST(CurveValueTest, SharesOneStateWithTheOthers) {
  typename TypeParam::Options options;
  EXPECT_EQ(TypeParam(options).state_key(), BinaryAUROC().state_key());
  EXPECT_EQ(TypeParam(options.thresholds(9)).state_key(),
            BinaryAUROC(BinaryAUROCOptions().thresholds(9)).state_key());
}

TYPED_TEST(CurveValueTest, SaturatedLogitsKeepTheirOrder) {
  const at::Tensor preds = at::tensor({97.0f, 98.0f, 99.0f, 100.0f});
  const at::Tensor target = at::tensor({0, 0, 1, 1});
  typename TypeParam::Options options;
  options.input(ScoreKind::kLogits);
  EXPECT_EQ(value_of<TypeParam>(options, preds, target),
            TypeParam::kHigherIsBetter.value() ? 1 : 0);
}

TEST(CurveSummariesTest, LogAUCTakesAnAscendingRangeOfRates) {
  for (const std::vector<double>& range : {std::vector<double>{0.1},
                                           {0.0, 0.1},
                                           {0.2, 0.1},
                                           {0.1, 1.5},
                                           {0.1, 0.2, 0.3}}) {
    try {
      BinaryLogAUC metric(BinaryLogAUCOptions().fpr_range(range));
      ADD_FAILURE() << range.size();
    } catch (const c10::ValueError& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  ::testing::HasSubstr("expected fpr_range of two ascending "
                                       "numbers in (0, 1], got "));
    }
  }
}

}  // namespace
}  // namespace tally
