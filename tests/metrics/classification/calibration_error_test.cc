#include "tally/metrics/classification/calibration_error.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/testing/compare.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

// Large batches, on several threads, add up what one loop does.
template <class M>
void expect_bins(const typename M::Options& options, const at::Tensor& preds,
                 const at::Tensor& target, const at::Tensor& confidence,
                 const at::Tensor& hit) {
  const at::Tensor bin = confidence.mul(options.n_bins())
                             .to(at::kLong)
                             .clamp_max(options.n_bins() - 1);
  const auto sums = [&](const at::Tensor& amounts) {
    return at::zeros({options.n_bins()}, at::kDouble)
        .scatter_add_(0, bin, amounts.to(at::kDouble));
  };
  const at::Tensor expected =
      at::stack({sums(at::ones_like(bin)), sums(confidence), sums(hit)});
  at::Tensor first;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    M metric(options);
    metric.update(preds, target);
    const at::Tensor bins = metric.state()["bins"];
    EXPECT_TRUE(testkit::near(bins, expected, {1e-12, 0})) << M::kName;
    if (first.defined()) {
      EXPECT_TRUE(testkit::same_bits(bins, first));
    }
    first = bins;
  }
  at::set_num_threads(1);
}

void expect_sums() {
  constexpr std::int64_t kCount = 150'000;
  const at::Tensor target = at::randint(0, 2, {kCount}, at::kLong);
  const at::Tensor scores = at::rand({kCount});
  const BinaryCalibrationErrorOptions binary;
  for (const at::Tensor& preds : {scores, scores.to(at::kDouble)}) {
    const at::Tensor wide = preds.to(at::kDouble);
    expect_bins<BinaryCalibrationError>(binary, preds, target, wide, target);
    expect_bins<BinaryCalibrationError>(binary, preds, target.to(at::kBool),
                                        wide, target);
    const at::Tensor logits = preds.mul(6).sub(3);
    expect_bins<BinaryCalibrationError>(
        BinaryCalibrationErrorOptions().n_bins(2000).input(ScoreKind::kLogits),
        logits, target, logits.to(at::kDouble).sigmoid(), target);
  }
  for (const std::int64_t classes : {3, 9, 41}) {
    const at::Tensor rows = at::randn({kCount / classes, classes}).mul(3);
    const at::Tensor labels =
        at::randint(0, classes, {kCount / classes}, at::kLong);
    for (const at::Tensor& preds : {rows, rows.to(at::kDouble)}) {
      const auto [best, predicted] = preds.to(at::kDouble).softmax(1).max(1);
      expect_bins<MulticlassCalibrationError>(
          MulticlassCalibrationErrorOptions(classes).input(ScoreKind::kLogits),
          preds, labels, best, predicted.eq(labels));
    }
  }
}

TEST(CalibrationErrorTest, AddsUpManySamples) {
  testkit::for_each_vector_target(expect_sums);
}

// Confidences at the ends of bins, up to a few roundings.
TEST(CalibrationErrorTest, BinsAreThoseOfAnyProcessor) {
  constexpr std::int64_t kBins = 20;
  const at::Tensor ends = at::arange(1, kBins, at::kDouble).div(kBins);
  const at::Tensor noise =
      at::randint(-4, 5, {200, 1}, at::kDouble).mul(1e-16).add(1);
  const at::Tensor logits = ends.logit().mul(noise).reshape(-1);
  const at::Tensor rows =
      at::stack({logits, at::zeros_like(logits), logits.sub(40)}, 1);
  const at::Tensor target = at::zeros({rows.size(0)}, at::kLong);
  at::Tensor first, first_of_rows;
  testkit::for_each_vector_target([&] {
    BinaryCalibrationError binary(
        BinaryCalibrationErrorOptions().n_bins(kBins).input(
            ScoreKind::kLogits));
    binary.update(logits, target);
    const at::Tensor bins = binary.state()["bins"];
    if (!first.defined()) first = bins;
    EXPECT_TRUE(testkit::same_bits(bins, first));
    for (const at::Tensor& given :
         {rows, at::stack({rows, rows}, -1).select(-1, 0)}) {
      MulticlassCalibrationError error(
          MulticlassCalibrationErrorOptions(3).n_bins(kBins).input(
              ScoreKind::kLogits));
      error.update(given, target);
      const at::Tensor counts = error.state()["bins"].select(0, 0);
      if (!first_of_rows.defined()) first_of_rows = counts;
      EXPECT_TRUE(testkit::same_bits(counts, first_of_rows));
    }
  });
}

TEST(CalibrationErrorTest, RefusesTheFirstPosition) {
  constexpr std::int64_t kCount = 300'000;
  const at::Tensor preds = at::rand({kCount});
  const at::Tensor target = at::randint(0, 2, {kCount}, at::kLong);
  for (const std::int64_t place : {100'001, 200'001, 299'999}) {
    target.select(0, place).fill_(place);
  }
  at::set_num_threads(3);
  BinaryCalibrationError error;
  try {
    error.update(preds, target);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const c10::IndexError& refusal) {
    EXPECT_THAT(refusal.what_without_backtrace(), HasSubstr("100001"));
  }
  at::set_num_threads(1);
}

TEST(CalibrationErrorTest, TheFirstOfEqualScoresIsPredicted) {
  const at::Tensor rows = at::zeros({2, 20});
  rows.select(1, 3).fill_(1);
  rows.select(1, 17).fill_(1);
  MulticlassCalibrationError error(
      MulticlassCalibrationErrorOptions(20).n_bins(1));
  error.update(rows, at::tensor({3, 17}));
  EXPECT_EQ(error.compute().item<double>(), 0.5);
}

}  // namespace
}  // namespace tally
