#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Flag = IntervalFlag;
using testkit::refusal_of;
using testkit::tensor_of;

BinaryCalibrationErrorOptions l2(std::int64_t n_bins = 15) {
  return BinaryCalibrationErrorOptions().n_bins(n_bins).norm(
      CalibrationNorm::kL2);
}

Interval interval_of(std::int64_t n_bins, const at::Tensor& preds,
                     const at::Tensor& target, const at::Tensor& weight = {}) {
  IntervalMetric metric{BinaryCalibrationError(l2(n_bins))};
  // Batches of different sizes, one of them empty.
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 7},
                                   {7, 7},
                                   {7, preds.size(0)}}) {
    const auto part = [&, begin = begin, end = end](const at::Tensor& all) {
      return all.defined() ? all.slice(0, begin, end) : all;
    };
    metric.update(part(preds), part(target), part(weight));
  }
  return metric.compute().value();
}

TEST(GapIntervalsTest, AreThoseOfPairsOfRows) {
  for (const auto& expected : testkit::interval_values().at("gaps")) {
    const auto n_bins = expected.at("n_bins").get<std::int64_t>();
    const at::Tensor preds = tensor_of(expected.at("confidence"));
    const at::Tensor target = tensor_of(expected.at("hits")).to(at::kLong);
    const at::Tensor weight = expected.at("weight").is_null()
                                  ? at::Tensor()
                                  : tensor_of(expected.at("weight"));
    const Interval one = interval_of(n_bins, preds, target, weight);
    EXPECT_EQ(one.method, IntervalMethod::kDebiasedGaps);
    EXPECT_NEAR(one.ends().low, expected.at("ends")[0].get<double>(), 1e-9);
    EXPECT_NEAR(one.ends().high, expected.at("ends")[1].get<double>(), 1e-9);
    if (expected.at("error").is_null()) {
      EXPECT_TRUE(std::isnan(one.standard_error.item<double>()));
    } else {
      EXPECT_NEAR(one.standard_error.item<double>(),
                  expected.at("error").get<double>(), 1e-9);
    }
    EXPECT_EQ(one.n, preds.size(0));
    // The metric's own value, of which chance is a part.
    BinaryCalibrationError plain(l2(n_bins));
    plain.update(preds, target, weight);
    EXPECT_NEAR(one.number(), plain.number(), 1e-12);
  }
}

TEST(GapIntervalsTest, OfClassesAreThoseOfTheirConfidence) {
  const auto& expected = testkit::interval_values().at("gaps")[4];
  const at::Tensor confidence = tensor_of(expected.at("confidence"));
  // Of three classes, the first is the predicted one; the bins are finer so
  // that a confidence of at least a half keeps its own.
  const at::Tensor top = confidence.div(2).add(0.5);
  const at::Tensor hits = tensor_of(expected.at("hits")).to(at::kLong);
  const at::Tensor rest = (1 - top).div(2);
  IntervalMetric classes{MulticlassCalibrationError(
      MulticlassCalibrationErrorOptions(3).n_bins(30).norm(
          CalibrationNorm::kL2))};
  classes.update(at::stack({top, rest, rest}, 1), 1 - hits);
  const Interval binary = interval_of(30, top, hits);
  const Interval own = classes.compute().value();
  EXPECT_NEAR(own.number(), binary.number(), 1e-12);
  EXPECT_NEAR(own.ends().low, binary.ends().low, 1e-12);
  EXPECT_NEAR(own.ends().high, binary.ends().high, 1e-12);
}

TEST(GapIntervalsTest, SaysThatTheValueOfFewRowsIsTooLarge) {
  const at::Tensor preds = at::arange(40, at::kDouble).add(0.5).div(40);
  const at::Tensor target = at::arange(40).mul(7).remainder(40).lt(20);
  EXPECT_TRUE(interval_of(15, preds, target.to(at::kLong))
                  .flags.contains(Flag::kBiased));
  // In two bins the gaps are those of the truth.
  const at::Tensor many = at::cat(
      {at::full({5000}, 0.2, at::kDouble), at::full({5000}, 0.9, at::kDouble)});
  const at::Tensor hits = at::arange(10000).remainder(2);
  const Interval large = interval_of(15, many, hits);
  EXPECT_FALSE(large.flags.contains(Flag::kBiased));
  EXPECT_NEAR(large.number(), std::sqrt((0.09 + 0.16) / 2), 1e-9);
  EXPECT_LT(large.ends().low, large.number());
  EXPECT_GT(large.ends().high, large.number());
}

TEST(GapIntervalsTest, HasNoneOfNothing) {
  const auto ends_are_nan = [](const Interval& interval) {
    return std::isnan(interval.ends().low) && std::isnan(interval.ends().high);
  };
  IntervalMetric empty{BinaryCalibrationError(l2())};
  EXPECT_TRUE(ends_are_nan(empty.compute().value()));
  // Each bin has one row: there is no pair.
  const at::Tensor apart = at::tensor({0.1, 0.5, 0.9}, at::kDouble);
  IntervalMetric single{BinaryCalibrationError(l2())};
  single.update(apart, at::tensor({0, 1, 1}));
  const Interval lone = single.compute().value();
  EXPECT_TRUE(ends_are_nan(lone));
  EXPECT_TRUE(lone.flags.contains(Flag::kFewUnits));
  // Certain, and always right.
  const at::Tensor right = at::arange(30).remainder(2);
  const Interval perfect = interval_of(15, right.to(at::kDouble), right);
  EXPECT_EQ(perfect.number(), 0);
  EXPECT_TRUE(ends_are_nan(perfect));
  EXPECT_TRUE(perfect.flags.contains(Flag::kNoVariation));
}

TEST(GapIntervalsTest, HasNoneWhereRowsSayTooLittle) {
  // All right, and never quite certain: the gap is the same in each row.
  const at::Tensor right = at::arange(400).remainder(2);
  const Interval sure =
      interval_of(15, right.to(at::kDouble).mul(0.98).add(0.01), right);
  EXPECT_NEAR(sure.number(), 0.01, 1e-9);
  EXPECT_TRUE(std::isnan(sure.ends().low));
  EXPECT_TRUE(sure.flags.contains(Flag::kNoVariation));
  // A sixth of the rows is alone in its bin, and wrong.
  const at::Tensor alone = at::arange(8, at::kDouble).add(5.5).div(15);
  const Interval lone = interval_of(
      15, at::cat({at::full({40}, 0.02, at::kDouble), alone}),
      at::cat({at::zeros({40}, at::kLong), alone.lt(0.5).to(at::kLong)}));
  EXPECT_TRUE(std::isnan(lone.ends().high));
  EXPECT_TRUE(lone.flags.contains(Flag::kUndefinedBlocks));
  EXPECT_FALSE(lone.flags.contains(Flag::kBiased));
  // One row has nearly all of the weight.
  const at::Tensor preds = at::arange(300, at::kDouble).add(0.5).div(300);
  at::Tensor weight = at::full({300}, 0.001, at::kDouble);
  weight[7] = 1000;
  const Interval uneven =
      interval_of(15, preds, at::arange(300).remainder(2), weight);
  EXPECT_TRUE(std::isnan(uneven.ends().low));
  EXPECT_TRUE(uneven.flags.contains(Flag::kUnevenUnits));
}

TEST(GapIntervalsTest, RowsOfWeightZeroChangeNothing) {
  const auto& expected = testkit::interval_values().at("gaps")[4];
  const at::Tensor preds = tensor_of(expected.at("confidence"));
  const at::Tensor target = tensor_of(expected.at("hits")).to(at::kLong);
  const Interval plain = interval_of(15, preds, target);
  const Interval padded = interval_of(
      15, at::cat({preds, at::full({9}, 0.5, at::kDouble)}),
      at::cat({target, at::zeros({9}, at::kLong)}),
      at::cat({at::full({400}, 1, at::kDouble), at::zeros({9}, at::kDouble)}));
  EXPECT_NEAR(padded.ends().low, plain.ends().low, 1e-12);
  EXPECT_NEAR(padded.ends().high, plain.ends().high, 1e-12);
  EXPECT_EQ(padded.counted, plain.counted);
}

TEST(GapIntervalsTest, IsSavedAndLoaded) {
  const auto& expected = testkit::interval_values().at("gaps")[0];
  IntervalMetric saved{BinaryCalibrationError(l2(4))};
  saved.update(tensor_of(expected.at("confidence")),
               tensor_of(expected.at("hits")).to(at::kLong));
  IntervalMetric loaded{BinaryCalibrationError(l2(4))};
  ASSERT_TRUE(loaded.deserialize(saved.serialize()).ok());
  EXPECT_EQ(loaded.compute().value().ends().high,
            saved.compute().value().ends().high);
}

TEST(GapIntervalsTest, RefusesWhatDoesNotCorrectForTheBias) {
  using Method = IntervalMethod;
  const auto refused = [](OwnedMetric metric, IntervalOptions options) {
    return refusal_of(
        [&] { IntervalMetric wrapped(std::move(metric), options); });
  };
  EXPECT_THAT(
      refused(BinaryCalibrationError(), IntervalOptions()),
      HasSubstr("BinaryCalibrationError has no interval: the gaps of its"));
  for (const auto& options : {IntervalOptions().method(Method::kJackknife),
                              IntervalOptions().method(Method::kPoisson),
                              IntervalOptions().grouped(true)}) {
    EXPECT_THAT(refused(BinaryCalibrationError(l2()), options),
                HasSubstr("BinaryCalibrationError has no interval of rows in "
                          "groups, nor by any method but debiased_gaps"));
  }
  EXPECT_THAT(refused(MulticlassCalibrationError(3),
                      IntervalOptions().method(Method::kDebiasedGaps)),
              HasSubstr("use norm l2"));
  EXPECT_THAT(interval_methods(BinaryCalibrationError(l2())),
              ElementsAre(Method::kDebiasedGaps));
  EXPECT_THAT(refusal_of([] {
                ModelComparison compared{BinaryCalibrationError(l2())};
              }),
              HasSubstr("the gaps of its bins"));
  IntervalMetric typed{BinaryCalibrationError(l2())};
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                typed.update(std::vector<std::string>{"a", "b"},
                             at::zeros({2}, at::kLong));
              }),
              HasSubstr("expected preds to be a"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { typed.update(at::zeros({2})); }),
              HasSubstr("target"));
  EXPECT_EQ(typed.compute().value().n, 0);
  // Several trials a row.
  IntervalMetric rows{BinaryCalibrationError(l2())};
  EXPECT_THAT(refusal_of([&] {
                rows.update(at::full({3, 2}, 0.5), at::zeros({3, 2}));
              }),
              HasSubstr("expected one sample per row"));
}

}  // namespace
}  // namespace tally
