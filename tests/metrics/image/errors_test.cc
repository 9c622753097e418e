#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/image/image_gradients.h"
#include "tally/metrics/image/kernels/squared_errors.h"
#include "tally/metrics/image/peak_signal_noise_ratio.h"
#include "tally/metrics/image/total_variation.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PeakSignalNoiseRatioTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.skip_gradients = {"integers"};
  testkit::check_metric<PeakSignalNoiseRatio>("image/PeakSignalNoiseRatio",
                                              options);
}

TEST(PeakSignalNoiseRatioTest, PoolsErrorsUnlessPerImage) {
  const at::Tensor target = at::zeros({2, 1, 4, 4});
  const at::Tensor preds =
      at::cat({at::full({1, 1, 4, 4}, 0.1, at::kDouble),
               at::full({1, 1, 4, 4}, 0.001, at::kDouble)});
  PeakSignalNoiseRatio pooled(1.0);
  EXPECT_NEAR(pooled.forward(preds, target).item<double>(),
              -10 * std::log10((0.01 + 1e-6) / 2), 1e-10);
  PeakSignalNoiseRatio each(PeakSignalNoiseRatioOptions(1).per_image(true));
  EXPECT_NEAR(each.forward(preds, target).item<double>(), 40, 1e-10);
}

// Errors of channels 0.2, 0.02 and 0.01.
TEST(PeakSignalNoiseRatioTest, AnImageWithoutABatchIsNoBatchOfChannels) {
  const at::Tensor target = at::zeros({3, 4, 4}, at::kDouble);
  const at::Tensor preds =
      target.add(at::tensor({0.2, 0.02, 0.01}).reshape({3, 1, 1}));
  const auto options = PeakSignalNoiseRatioOptions(1).per_image(true);
  PeakSignalNoiseRatio each(options);
  EXPECT_THAT(refusal_of([&] { each.update(preds, target); }),
              HasSubstr("got [3, 4, 4]; one image is [1, C, H, W]: "
                        "preds.unsqueeze(0)"));
  EXPECT_NEAR(
      each.forward(preds.unsqueeze(0), target.unsqueeze(0)).item<double>(),
      -10 * std::log10((0.04 + 0.0004 + 0.0001) / 3), 1e-10);
}

TEST(PeakSignalNoiseRatioTest, EqualImagesAreInfiniteWithoutAGradient) {
  for (const bool per_image : {false, true}) {
    PeakSignalNoiseRatio metric(
        PeakSignalNoiseRatioOptions(1).per_image(per_image));
    const at::Tensor image = at::rand({2, 3, 4, 4});
    const at::Tensor preds = image.clone().set_requires_grad(true);
    const at::Tensor value = metric.forward(preds, image);
    EXPECT_EQ(value.item<double>(), kInfinity);
    value.backward();
    EXPECT_EQ(preds.grad().abs().sum().item<double>(), 0);
  }
}

// Images of several blocks, and one after them.
TEST(PeakSignalNoiseRatioTest, ErrorsAreThoseOfLibTorchsOperations) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf}) {
    at::Tensor preds = at::rand({2, 1, 300, 501}).to(dtype);
    at::Tensor target = at::rand({2, 1, 300, 501}).to(dtype);
    preds.set_requires_grad(true);
    target.set_requires_grad(true);
    const at::Tensor errors = internal::image::squared_errors(preds, target);
    const at::Tensor expected = preds.to(at::kDouble)
                                    .sub(target.to(at::kDouble))
                                    .square()
                                    .flatten(1)
                                    .sum(1);
    EXPECT_LT(errors.div(expected).sub(1).abs().max().item<double>(), 1e-12);
    const auto gradients = [&](const at::Tensor& of) {
      return torch::autograd::grad({of.mul(at::tensor({1.0, 0.5})).sum()},
                                   {preds, target},
                                   /*grad_outputs=*/{}, /*retain_graph=*/true);
    };
    const auto ours = gradients(errors), theirs = gradients(expected);
    for (const std::size_t i : {0, 1}) {
      EXPECT_EQ(ours[i].scalar_type(), dtype);
      EXPECT_TRUE(at::allclose(ours[i], theirs[i],
                               dtype == at::kDouble ? 1e-12 : 1e-3,
                               dtype == at::kDouble ? 1e-12 : 1e-3));
    }
  }
}

TEST(PeakSignalNoiseRatioTest, RefusesBadOptionsAndInputs) {
  EXPECT_THAT(refusal_of([] { PeakSignalNoiseRatio(0.0); }),
              HasSubstr("PeakSignalNoiseRatio: expected data_range above 0 and "
                        "finite, got 0"));
  EXPECT_THAT(refusal_of([] {
                PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).base(1));
              }),
              HasSubstr("expected base above 1, got 1"));
  PeakSignalNoiseRatio metric(1);
  EXPECT_THAT(refusal_of([&] {
                metric.update(at::zeros({2, 0}), at::zeros({2, 0}));
              }),
              HasSubstr("all but N at least 1, got [2, 0]"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(PeakSignalNoiseRatioTest, ImagesWithNaN) {
  const at::Tensor target = at::zeros({3, 1, 2, 2});
  at::Tensor preds = at::full({3, 1, 2, 2}, 0.1, at::kDouble);
  preds[1][0][0][1] = kNaN;
  PeakSignalNoiseRatio ignores(1.0,
                               MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_NEAR(ignores.forward(preds, target).item<double>(), 20, 1e-10);
  PeakSignalNoiseRatio refuses(1.0,
                               MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(preds, target); }),
              HasSubstr("expected images without NaN, got some in image 1"));
  EXPECT_EQ(refuses.update_count(), 0);
  PeakSignalNoiseRatio keeps(1.0);
  EXPECT_TRUE(std::isnan(keeps.forward(preds, target).item<double>()));
}

TEST(TotalVariationTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"integers"};
  testkit::check_metric<TotalVariation>("image/TotalVariation", options);
}

TEST(TotalVariationTest, SumsDifferencesOfNeighbors) {
  const at::Tensor img = at::arange(6, at::kLong).reshape({1, 1, 2, 3});
  TotalVariation variation;
  EXPECT_EQ(variation.forward(img).item<double>(), 3 * 3 + 4 * 1);
  EXPECT_THAT(refusal_of([&] { variation.update(img[0]); }),
              HasSubstr("expected img of shape [N, C, H, W], all but N at "
                        "least 1, got [1, 2, 3]"));
}

TEST(ImageGradientsTest, AreThoseOfNextPixels) {
  const at::Tensor img = at::arange(6, at::kFloat).reshape({1, 1, 2, 3});
  const auto [dy, dx] = image_gradients(img);
  EXPECT_TRUE(dy.equal(
      at::cat({at::full({1, 1, 1, 3}, 3.0), at::zeros({1, 1, 1, 3})}, 2)));
  EXPECT_TRUE(
      dx.equal(at::cat({at::ones({1, 1, 2, 2}), at::zeros({1, 1, 2, 1})}, 3)));
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] { image_gradients(img.to(at::kByte)); }),
      HasSubstr("expected img of a dtype with signs, got Byte"));
}

}  // namespace
}  // namespace tally
