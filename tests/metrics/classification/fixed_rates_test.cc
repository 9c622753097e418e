#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using testkit::check_metric;
using testkit::refusal_of;

TEST(FixedRatesTest, RecallAtFixedPrecisionPassesTheHarness) {
  check_metric<BinaryRecallAtFixedPrecision>("BinaryRecallAtFixedPrecision");
  check_metric<MulticlassRecallAtFixedPrecision>(
      "MulticlassRecallAtFixedPrecision");
  check_metric<MultilabelRecallAtFixedPrecision>(
      "MultilabelRecallAtFixedPrecision");
}
TEST(FixedRatesTest, PrecisionAtFixedRecallPassesTheHarness) {
  check_metric<BinaryPrecisionAtFixedRecall>("BinaryPrecisionAtFixedRecall");
  check_metric<MulticlassPrecisionAtFixedRecall>(
      "MulticlassPrecisionAtFixedRecall");
  check_metric<MultilabelPrecisionAtFixedRecall>(
      "MultilabelPrecisionAtFixedRecall");
}
TEST(FixedRatesTest, SensitivityAtSpecificityPassesTheHarness) {
  check_metric<BinarySensitivityAtSpecificity>(
      "BinarySensitivityAtSpecificity");
  check_metric<MulticlassSensitivityAtSpecificity>(
      "MulticlassSensitivityAtSpecificity");
  check_metric<MultilabelSensitivityAtSpecificity>(
      "MultilabelSensitivityAtSpecificity");
}
TEST(FixedRatesTest, SpecificityAtSensitivityPassesTheHarness) {
  check_metric<BinarySpecificityAtSensitivity>(
      "BinarySpecificityAtSensitivity");
  check_metric<MulticlassSpecificityAtSensitivity>(
      "MulticlassSpecificityAtSensitivity");
  check_metric<MultilabelSpecificityAtSensitivity>(
      "MultilabelSpecificityAtSensitivity");
}

constexpr double kInf = std::numeric_limits<double>::infinity();

// Thresholds 0.8, 0.6, 0.4, 0.2: precision 0, 1/2, 2/3, 1/2; recall 0, 1/2, 1,
// 1; specificity 1/2, 1/2, 1/2, 0.
const at::Tensor& preds() {
  static const at::Tensor tensor = at::tensor({0.8f, 0.6f, 0.4f, 0.2f});
  return tensor;
}
const at::Tensor& target() {
  static const at::Tensor tensor = at::tensor({0, 1, 1, 0});
  return tensor;
}

template <class M>
std::vector<double> best(double least, const Thresholds& thresholds = {}) {
  M metric(typename M::Options(least).thresholds(thresholds));
  metric.update(preds(), target());
  std::vector<double> values;
  for (const auto& [name, value] : metric.compute_results()) {
    values.push_back(value.template item<double>());
  }
  return values;
}

::testing::Matcher<std::vector<double>> is(double rate, double threshold) {
  using ::testing::NanSensitiveDoubleEq;
  return ::testing::ElementsAre(NanSensitiveDoubleEq(rate),
                                NanSensitiveDoubleEq(threshold));
}

TEST(FixedRatesTest, ChooseTheBestThreshold) {
  constexpr double kLow = 0.4f;
  EXPECT_THAT(best<BinaryRecallAtFixedPrecision>(0.6), is(1, kLow));
  EXPECT_THAT(best<BinaryRecallAtFixedPrecision>(0.0), is(1, kLow));
  EXPECT_THAT(best<BinaryPrecisionAtFixedRecall>(0.9), is(2.0 / 3, kLow));
  EXPECT_THAT(best<BinarySensitivityAtSpecificity>(0.5), is(1, kLow));
  EXPECT_THAT(best<BinarySensitivityAtSpecificity>(0.6), is(0, kInf));
  EXPECT_THAT(best<BinarySpecificityAtSensitivity>(0.5), is(0.5, kLow));
  EXPECT_THAT(best<BinarySpecificityAtSensitivity>(0.0), is(1, kInf));
}

TEST(FixedRatesTest, SayWhenNoThresholdWillDo) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Thresholds high({0.5, 0.7});
  EXPECT_THAT(best<BinaryRecallAtFixedPrecision>(0.9), is(0, kInf));
  EXPECT_THAT(best<BinaryRecallAtFixedPrecision>(0.9, high), is(0, kInf));
  EXPECT_THAT(best<BinaryPrecisionAtFixedRecall>(0.9, high), is(kNaN, kNaN));
  EXPECT_THAT(best<BinarySpecificityAtSensitivity>(0.9, high), is(kNaN, kNaN));
  EXPECT_THAT(best<BinarySensitivityAtSpecificity>(0.9, high), is(0, kInf));
}

TEST(FixedRatesTest, AreNanWithoutData) {
  const auto all_nan = [](const auto& metric) {
    for (const auto& [name, value] : metric) {
      EXPECT_TRUE(value.isnan().all().template item<bool>()) << name;
    }
  };
  all_nan(BinaryRecallAtFixedPrecision(0.5).compute_results());
  all_nan(BinaryPrecisionAtFixedRecall(0.5).compute_results());
  all_nan(MulticlassSensitivityAtSpecificity({3, 0.5}).compute_results());
  all_nan(MultilabelSpecificityAtSensitivity({3, 0.5}).compute_results());
}

TEST(FixedRatesTest, RefuseRatesOutsideOfZeroToOne) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal_of([] { BinaryRecallAtFixedPrecision(1.5); }),
              HasSubstr("BinaryRecallAtFixedPrecision: expected min_precision "
                        "in [0, 1], got 1.5"));
  EXPECT_THAT(refusal_of([] { BinaryPrecisionAtFixedRecall(std::nan("")); }),
              HasSubstr("expected min_recall in [0, 1], got nan"));
  EXPECT_THAT(refusal_of([] { MulticlassSensitivityAtSpecificity(3); }),
              HasSubstr("expected min_specificity in [0, 1], got -1"));
  EXPECT_THAT(
      refusal_of([] {
        MultilabelSpecificityAtSensitivity(
            MultilabelSpecificityAtSensitivityOptions(3).min_sensitivity(-0.5));
      }),
      HasSubstr("expected min_sensitivity in [0, 1], got -0.5"));
  EXPECT_THAT(refusal_of([] {
                MulticlassSensitivityAtSpecificity({1, 0.5});
              }),
              HasSubstr("expected num_classes to be at least 2, got 1"));
}

TEST(FixedRatesTest, ShareOneState) {
  EXPECT_EQ(MulticlassSensitivityAtSpecificity({3, 0.5}).state_key(),
            MulticlassPrecisionAtFixedRecall({3, 0.2}).state_key());
}

}  // namespace
}  // namespace tally
