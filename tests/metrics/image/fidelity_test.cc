#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/image/image.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Vif = VisualInformationFidelity;
using VifOptions = VisualInformationFidelityOptions;
using PsnrB = PeakSignalNoiseRatioWithBlockedEffect;

testkit::HarnessOptions differentiable_in_both() {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  return options;
}

double fidelity(const at::Tensor& preds, const at::Tensor& target,
                const VifOptions& options) {
  Vif metric(options);
  return metric.forward(preds, target).item<double>();
}

TEST(VisualInformationFidelityTest, PassesTheHarness) {
  testkit::HarnessOptions options = differentiable_in_both();
  options.skip_gradients = {"default"};
  testkit::check_metric<Vif>("image/VisualInformationFidelity", options);
}

TEST(VisualInformationFidelityTest, HasTheGradientOfDifferences) {
  const at::Tensor target = at::rand({1, 1, 42, 41}, at::kDouble);
  const at::Tensor preds =
      target.mul(0.8).add(at::rand({1, 1, 42, 41}, at::kDouble), 0.2);
  const at::Tensor step = at::rand({1, 1, 42, 41}, at::kDouble).sub(0.5);
  for (const bool of_preds : {true, false}) {
    const auto value = [&](const at::Tensor& moved) {
      Vif metric(1.0);
      return of_preds ? metric.forward(moved, target)
                      : metric.forward(preds, moved);
    };
    const at::Tensor start =
        (of_preds ? preds : target).clone().set_requires_grad(true);
    value(start).backward();
    const double slope = start.grad().mul(step).sum().item<double>();
    const at::Tensor from = start.detach();
    const double difference = value(from.add(step, 1e-5))
                                  .sub(value(from.sub(step, 1e-5)))
                                  .item<double>();
    EXPECT_NEAR(difference / 2e-5, slope, 1e-6 * std::abs(slope));
  }
}

// TorchMetrics has 0.263 from 0 to 255, and 0.994 from 0 to 1.
TEST(VisualInformationFidelityTest, DependsOnValuesRelativeToTheRange) {
  const at::Tensor target = at::rand({1, 1, 48, 48}, at::kDouble);
  const at::Tensor preds =
      target.add(at::rand({1, 1, 48, 48}, at::kDouble), 0.2);
  EXPECT_NEAR(fidelity(preds, target, 1.0),
              fidelity(preds.mul(255), target.mul(255), 255.0), 1e-10);
}

TEST(VisualInformationFidelityTest, NoiseIsNotLikeAConstantTarget) {
  const at::Tensor flat = at::full({1, 1, 41, 41}, 0.1, at::kDouble);
  EXPECT_EQ(fidelity(flat, flat, 1.0), 1);
  EXPECT_EQ(fidelity(flat.add(0.1), flat, 1.0), 1);
  EXPECT_EQ(fidelity(at::rand({1, 1, 41, 41}), flat, 1.0), 0);
}

TEST(VisualInformationFidelityTest, ChannelsOrLuma) {
  const at::Tensor preds = at::rand({1, 3, 41, 42}, at::kDouble);
  const at::Tensor target = at::rand({1, 3, 41, 42}, at::kDouble);
  double sum = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    sum += fidelity(preds.narrow(1, c, 1), target.narrow(1, c, 1), 1.0);
  }
  EXPECT_NEAR(fidelity(preds, target, 1.0), sum / 3, 1e-12);
  const auto luma = [](const at::Tensor& images) {
    return images.select(1, 0)
        .mul(0.299)
        .add(images.select(1, 1), 0.587)
        .add(images.select(1, 2), 0.114)
        .unsqueeze(1);
  };
  EXPECT_NEAR(fidelity(preds, target, VifOptions(1).luma(true)),
              fidelity(luma(preds), luma(target), 1.0), 1e-10);
  EXPECT_THAT(refusal_of([&] {
                fidelity(at::ones({1, 1, 41, 41}), at::ones({1, 1, 41, 41}),
                         VifOptions(1).luma(true));
              }),
              HasSubstr("expected images of 3 channels for luma, got 1"));
}

TEST(BlockedEffectTest, PassesTheHarness) {
  testkit::HarnessOptions options = differentiable_in_both();
  options.skip_gradients = {"default"};
  // Its own blocks count as errors.
  options.target_is_best = false;
  testkit::check_metric<PsnrB>("image/PeakSignalNoiseRatioWithBlockedEffect",
                               options);
}

// TorchMetrics has 13.54 for one image, and 7.55 for four copies.
TEST(BlockedEffectTest, CopiesChangeNothing) {
  const at::Tensor target = at::full({1, 1, 16, 16}, 0.5, at::kDouble);
  at::Tensor preds = target.clone();
  preds.slice(3, 8, 16).add_(0.5);
  PsnrB one(1.0), four(1.0);
  const double value = one.forward(preds, target).item<double>();
  EXPECT_NEAR(four.forward(at::cat({preds, preds, preds, preds}),
                           at::cat({target, target, target, target}))
                  .item<double>(),
              value, 1e-12);
  PeakSignalNoiseRatio without(1.0);
  EXPECT_LT(value, without.forward(preds, target).item<double>());
  EXPECT_THAT(refusal_of([&] {
                one.update(at::ones({1, 3, 16, 16}), at::ones({1, 3, 16, 16}));
              }),
              HasSubstr("expected images of a single channel, got 3"));
}

TEST(VideoTest, MetricsPassTheHarness) {
  testkit::check_metric<VideoPeakSignalNoiseRatio>(
      "image/VideoPeakSignalNoiseRatio", differentiable_in_both());
  testkit::check_metric<VideoStructuralSimilarityIndexMeasure>(
      "image/VideoStructuralSimilarityIndexMeasure", differentiable_in_both());
}

TEST(VideoTest, LongVideosWeighNoMoreThanShortOnes) {
  const auto video = [](std::int64_t frames, double error) {
    return at::full({1, frames, 1, 4, 4}, error, at::kDouble);
  };
  VideoPeakSignalNoiseRatio psnr(1.0);
  psnr.update(video(5, 0.1), video(5, 0));
  psnr.update(video(1, 0.01), video(1, 0));
  EXPECT_NEAR(psnr.compute().item<double>(), 30, 1e-12);
  EXPECT_THAT(refusal_of([&] { psnr.update(video(0, 0), video(0, 0)); }),
              HasSubstr("of shape [N, T, C, H, W], T at least 1, got "
                        "[1, 0, 1, 4, 4]"));
}

}  // namespace
}  // namespace tally
