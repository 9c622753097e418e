#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tally/metrics/classification/brier_score.h"
#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/classification/hinge_loss.h"
#include "tally/metrics/classification/log_loss.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

// The same values where no plain loop can read them.
at::Tensor strided(const at::Tensor& tensor) {
  return tensor.unsqueeze(-1).expand({-1, 2}).clone().select(1, 0);
}
at::Tensor strided_rows(const at::Tensor& tensor) {
  return tensor.t().contiguous().t();
}

template <class M>
void check_loss() {
  SCOPED_TRACE(M::kName);
  testkit::HarnessOptions options;
  testkit::check_metric<M>(M::kName, options);
}

TEST(PointwiseTest, BinaryLossesPassTheHarness) {
  check_loss<BinaryLogLoss>();
  check_loss<BinaryBrierScore>();
  check_loss<BinaryHingeLoss>();
}

TEST(PointwiseTest, MulticlassLossesPassTheHarness) {
  check_loss<MulticlassBrierScore>();
  check_loss<MulticlassHingeLoss>();
}

TEST(PointwiseTest, CalibrationErrorsPassTheHarness) {
  check_loss<BinaryCalibrationError>();
  check_loss<MulticlassCalibrationError>();
}

template <class M>
void expect_loop_equals_tensors(const typename M::Options& options,
                                const at::Tensor& preds,
                                const at::Tensor& target) {
  SCOPED_TRACE(M::kName);
  const at::Tensor weight =
      at::rand(target.sizes())
          .masked_fill(at::rand(target.sizes()).lt(0.1), kNaN);
  for (const at::Tensor& w : {at::Tensor(), weight}) {
    for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
      M loop(options, MetricOptions().nan_policy(policy));
      M tensors(options, MetricOptions().nan_policy(policy));
      loop.update(preds, target, w);
      tensors.update(preds.dim() == 2 ? strided_rows(preds) : strided(preds),
                     target, w);
      EXPECT_TRUE(testkit::near(tensors.compute(), loop.compute(), {1e-12, 0}));
      EXPECT_TRUE(testkit::near(tensors.state(), loop.state(), {1e-12, 1e-14}));
      EXPECT_EQ(loop.compute().isnan().all().template item<bool>(),
                policy == NanPolicy::kPropagate);
    }
  }
}

TEST(PointwiseTest, LoopsEqualTensorOperations) {
  for (const ScoreKind input :
       {ScoreKind::kProbabilities, ScoreKind::kLogits}) {
    const bool logits = input == ScoreKind::kLogits;
    at::Tensor binary = logits ? at::randn({60}).mul(3) : at::rand({60});
    binary = binary.masked_fill(at::rand({60}).lt(0.1), kNaN);
    at::Tensor rows = at::randn({60, 4}).mul(3);
    if (!logits) rows = rows.softmax(1);
    rows = rows.masked_fill(at::rand({60, 4}).lt(0.05), kNaN);
    rows[0][0] = binary[0] = kNaN;
    at::Tensor target = at::randint(-1, 2, {60}, at::kLong);
    at::Tensor classes = at::randint(-1, 4, {60}, at::kLong);
    target[0] = classes[0] = 0;
    expect_loop_equals_tensors<BinaryLogLoss>(
        BinaryLogLossOptions().input(input).ignore_index(-1), binary, target);
    expect_loop_equals_tensors<BinaryBrierScore>(
        BinaryBrierScoreOptions().input(input).ignore_index(-1), binary,
        target);
    expect_loop_equals_tensors<BinaryCalibrationError>(
        BinaryCalibrationErrorOptions().input(input).ignore_index(-1), binary,
        target);
    expect_loop_equals_tensors<BinaryHingeLoss>(
        BinaryHingeLossOptions().squared(logits).ignore_index(-1), binary,
        target);
    expect_loop_equals_tensors<MulticlassLogLoss>(
        MulticlassLogLossOptions(4).input(input).ignore_index(-1), rows,
        classes);
    expect_loop_equals_tensors<MulticlassBrierScore>(
        MulticlassBrierScoreOptions(4).input(input).ignore_index(-1), rows,
        classes);
    expect_loop_equals_tensors<MulticlassCalibrationError>(
        MulticlassCalibrationErrorOptions(4).input(input).ignore_index(-1),
        rows, classes);
    for (const HingeMode mode :
         {HingeMode::kCrammerSinger, HingeMode::kOneVsAll}) {
      expect_loop_equals_tensors<MulticlassHingeLoss>(
          MulticlassHingeLossOptions(4).mode(mode).squared(logits).ignore_index(
              -1),
          rows, classes);
    }
  }
}

TEST(PointwiseTest, ManyElementsAreTheSameForAnyThreads) {
  at::Tensor preds = at::rand({150'001});
  const at::Tensor target = at::randint(2, preds.sizes(), at::kLong);
  const int before = at::get_num_threads();
  for (const bool has_nan : {false, true}) {
    if (has_nan) preds[150'000] = kNaN;
    const auto loss = [&](const at::Tensor& scores) {
      BinaryLogLoss metric({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
      metric.update(scores, target);
      return metric.compute();
    };
    const at::Tensor expected = loss(strided(preds));
    at::set_num_threads(1);
    const at::Tensor alone = loss(preds);
    EXPECT_TRUE(testkit::near(expected, alone, {1e-12, 0}));
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(loss(preds).equal(alone)) << threads << " threads";
    }
    at::set_num_threads(before);
  }
}

TEST(PointwiseTest, CalibrationOfManyClasses) {
  const at::Tensor logits = at::randn({40, 70}).mul(4);
  const at::Tensor target = at::randint(0, 70, {40}, at::kLong);
  MulticlassCalibrationError vectors(
      MulticlassCalibrationErrorOptions(70).input(ScoreKind::kLogits));
  MulticlassCalibrationError tensors(
      MulticlassCalibrationErrorOptions(70).input(ScoreKind::kLogits));
  vectors.update(logits, target);
  tensors.update(strided_rows(logits), target);
  EXPECT_TRUE(testkit::near(vectors.state(), tensors.state(), {1e-12, 1e-14}));
}

TEST(PointwiseTest, TakesHalves) {
  BinaryBrierScore score;
  score.update(at::tensor({0.5, 0.25}).to(at::kHalf), labels({1, 0}));
  score.update(at::tensor({0.5, 0.25}).to(at::kBFloat16), labels({1, 0}));
  EXPECT_DOUBLE_EQ(score.compute().item<double>(), 0.3125 / 2);
  MulticlassHingeLoss hinge(2);
  hinge.update(at::tensor({0.5, 0.25}).to(at::kHalf).view({1, 2}), labels({0}));
  EXPECT_DOUBLE_EQ(hinge.compute().item<double>(), 0.75);
}

TEST(PointwiseTest, InfiniteScores) {
  const double inf = std::numeric_limits<double>::infinity();
  BinaryHingeLoss binary;
  binary.update(at::tensor({inf, -inf}), labels({1, 0}));
  EXPECT_EQ(binary.compute().item<double>(), 0);
  MulticlassHingeLoss each(
      MulticlassHingeLossOptions(2).mode(HingeMode::kOneVsAll));
  each.update(at::tensor({inf, -inf}).view({1, 2}), labels({0}));
  EXPECT_TRUE(testkit::near(each.compute(), at::zeros({2}, at::kDouble)));
  MulticlassCalibrationError calibration(
      MulticlassCalibrationErrorOptions(2).input(ScoreKind::kLogits));
  calibration.update(at::tensor({800.0, -800.0}).view({1, 2}), labels({0}));
  EXPECT_EQ(calibration.compute().item<double>(), 0);
}

TEST(PointwiseTest, NothingIsNaN) {
  const auto is_nan = [](auto metric) {
    return metric.compute().isnan().all().template item<bool>();
  };
  EXPECT_TRUE(is_nan(BinaryLogLoss()));
  EXPECT_TRUE(is_nan(BinaryBrierScore()));
  EXPECT_TRUE(is_nan(BinaryHingeLoss()));
  EXPECT_TRUE(is_nan(BinaryCalibrationError()));
  EXPECT_TRUE(is_nan(MulticlassBrierScore(3)));
  EXPECT_TRUE(is_nan(MulticlassHingeLoss(3)));
  EXPECT_TRUE(is_nan(MulticlassCalibrationError(3)));
  MulticlassHingeLoss each(
      MulticlassHingeLossOptions(3).mode(HingeMode::kOneVsAll));
  EXPECT_EQ(each.compute().numel(), 3);
  each.update(at::empty({0, 3}), at::empty({0}, at::kLong));
  EXPECT_TRUE(each.compute().isnan().all().item<bool>());
}

TEST(PointwiseTest, LastBinHoldsOne) {
  BinaryCalibrationError error(BinaryCalibrationErrorOptions().n_bins(2));
  error.update(at::tensor({0.0, 0.5, 1.0}), labels({0, 1, 1}));
  EXPECT_TRUE(testkit::near(
      error.state()["bins"],
      at::tensor({1.0, 2.0, 0.0, 1.5, 0.0, 2.0}).view({2 + 1, 2})));
  EXPECT_DOUBLE_EQ(error.compute().item<double>(), 0.5 / 3);
}

TEST(PointwiseTest, OptionsAreChecked) {
  EXPECT_THAT(refusal_of<c10::ValueError>([] { MulticlassBrierScore(1); }),
              HasSubstr("MulticlassBrierScore: expected num_classes of at "
                        "least 2, got 1"));
  EXPECT_THAT(refusal_of<c10::ValueError>([] { MulticlassHingeLoss(0); }),
              HasSubstr("got 0"));
  EXPECT_THAT(
      refusal_of<c10::ValueError>([] {
        BinaryCalibrationError(BinaryCalibrationErrorOptions().n_bins(0));
      }),
      HasSubstr("BinaryCalibrationError: expected n_bins of at least "
                "1, got 0"));
  EXPECT_EQ(MulticlassHingeLoss(3).repr(),
            "MulticlassHingeLoss(num_classes=3, squared=false, "
            "mode=crammer-singer, ignore_index=none)");
}

// By the plain loop and by tensor operations.
template <class M>
void expect_refused(const typename M::Options& options, const at::Tensor& preds,
                    const at::Tensor& target, const at::Tensor& weight,
                    const std::string& message) {
  for (const bool plain : {true, false}) {
    M metric(options, MetricOptions().nan_policy(NanPolicy::kError));
    const at::Tensor given = plain || preds.dim() == 0 ? preds
                             : preds.dim() == 2        ? strided_rows(preds)
                                                       : strided(preds);
    EXPECT_THAT(
        refusal_of<c10::Error>([&] { metric.update(given, target, weight); }),
        AllOf(HasSubstr(M::kName), HasSubstr(message)));
    EXPECT_EQ(metric.update_count(), 0);
  }
}

TEST(PointwiseTest, RefusesValues) {
  const at::Tensor bad = at::tensor({0.5, 1.5});
  const at::Tensor bad_rows = at::tensor({0.5, 0.5, 1.5, 0.5}).view({2, 2});
  const at::Tensor nan = at::tensor({0.5, kNaN});
  const at::Tensor nan_rows = at::tensor({0.5, 0.5, 0.5, kNaN}).view({2, 2});
  const at::Tensor target = labels({0, 1});
  const std::string probability =
      "expected probabilities in [0, 1] as preds, got 1.5 at position 1";
  expect_refused<BinaryLogLoss>({}, bad, target, {}, probability);
  expect_refused<BinaryBrierScore>({}, bad, target, {}, probability);
  expect_refused<BinaryCalibrationError>({}, bad, target, {}, probability);
  expect_refused<MulticlassBrierScore>(2, bad_rows, target, {}, probability);
  expect_refused<MulticlassCalibrationError>(2, bad_rows, target, {},
                                             probability);
  const std::string no_nan =
      "expected preds without NaN, got NaN at position 1";
  expect_refused<BinaryHingeLoss>({}, nan, target, {}, no_nan);
  expect_refused<BinaryCalibrationError>({}, nan, target, {}, no_nan);
  expect_refused<MulticlassHingeLoss>(2, nan_rows, target, {}, no_nan);
  expect_refused<MulticlassHingeLoss>(
      MulticlassHingeLossOptions(2).mode(HingeMode::kOneVsAll), nan_rows,
      target, {}, no_nan);
  expect_refused<MulticlassCalibrationError>(2, nan_rows, target, {}, no_nan);
  expect_refused<BinaryBrierScore>(
      {}, at::rand({2}), target, nan,
      "expected weight without NaN, got NaN at position 1");
  expect_refused<BinaryBrierScore>({}, at::rand({2}), labels({0, 2}), {},
                                   "expected target in [0, 2), got 2 at "
                                   "position 1");
  expect_refused<MulticlassBrierScore>(
      2, at::rand({2, 2}).softmax(1), labels({0, 2}), {},
      "expected target in [0, 2), got 2 at position 1");
  expect_refused<MulticlassHingeLoss>(2, at::rand({2, 3}), target, {},
                                      "expected preds [N, 2, ...]");
  expect_refused<BinaryHingeLoss>({}, at::rand({2}), target, at::rand({3}),
                                  "expected weight and target of the same "
                                  "shape, got [3] and [2]");
}

}  // namespace
}  // namespace tally
