#include "tally/metrics/image/kernels/structural.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/image/multi_scale_structural_similarity_index_measure.h"
#include "tally/metrics/image/structural_similarity_index_measure.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Ssim = StructuralSimilarityIndexMeasure;
using SsimOptions = StructuralSimilarityIndexMeasureOptions;
using MsSsim = MultiScaleStructuralSimilarityIndexMeasure;
using MsSsimOptions = MultiScaleStructuralSimilarityIndexMeasureOptions;

template <class M>
double value_of(const at::Tensor& preds, const at::Tensor& target,
                const typename M::Options& options) {
  M metric(options);
  return metric.forward(preds, target).template item<double>();
}

TEST(StructuralSimilarityTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  // Those of many pixels take long, and are compared with LibTorch's below.
  options.skip_gradients = {"default",   "float32", "integers",         "sigma",
                            "uniform",   "reflect", "reflected_volume", "zero",
                            "zero_sigma"};
  testkit::check_metric<Ssim>("image/StructuralSimilarityIndexMeasure",
                              options);
}

TEST(MultiScaleStructuralSimilarityTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.skip_gradients = {"three"};
  testkit::check_metric<MsSsim>(
      "image/MultiScaleStructuralSimilarityIndexMeasure", options);
}

TEST(StructuralSimilarityTest, ZerosAreThoseOfAnImageThatIsPadded) {
  const at::Tensor preds = at::rand({2, 3, 7, 12}),
                   target = at::rand({2, 3, 7, 12});
  const auto padded = [](const at::Tensor& images) {
    return at::constant_pad_nd(images, {5, 5, 5, 5}, 0);
  };
  EXPECT_EQ(value_of<Ssim>(preds, target,
                           SsimOptions(1.0).border(ImageBorder::kZero)),
            value_of<Ssim>(padded(preds), padded(target), 1.0));
  // Where windows that lie within it, or mirror it, have no place.
  EXPECT_THROW(value_of<Ssim>(preds.narrow(2, 0, 1), target.narrow(2, 0, 1),
                              SsimOptions(1.0).border(ImageBorder::kReflect)),
               c10::ValueError);
  EXPECT_LE(value_of<Ssim>(preds.narrow(2, 0, 1), target.narrow(2, 0, 1),
                           SsimOptions(1.0).border(ImageBorder::kZero)),
            1);
}

TEST(StructuralSimilarityTest, EqualImagesAreExactlyOne) {
  const at::Tensor image = at::rand({2, 3, 20, 17});
  EXPECT_EQ(value_of<Ssim>(image, image, 1.0), 1);
  EXPECT_EQ(value_of<Ssim>(image.mul(255).to(at::kByte),
                           image.mul(255).to(at::kByte), 255.0),
            1);
}

// TorchMetrics gives -8.3e6, pytorch-msssim 20482.
TEST(StructuralSimilarityTest, BrightImagesOfLowContrast) {
  const at::Tensor target =
      at::rand({1, 1, 32, 32}, at::kDouble).mul(0.01).add(1000);
  const at::Tensor preds =
      target.add(at::rand({1, 1, 32, 32}, at::kDouble).mul(0.001));
  const double expected = value_of<Ssim>(preds, target, 0.01);
  EXPECT_LT(expected, 1);
  const at::Tensor low = preds.to(at::kFloat), other = target.to(at::kFloat);
  EXPECT_NEAR(value_of<Ssim>(low, other, 0.01),
              value_of<Ssim>(low.to(at::kDouble), other.to(at::kDouble), 0.01),
              1e-4);
}

TEST(StructuralSimilarityTest, AVolumeOfEqualSlicesIsAnImage) {
  const at::Tensor preds = at::rand({2, 1, 12, 14}, at::kDouble);
  const at::Tensor target = at::rand({2, 1, 12, 14}, at::kDouble);
  const auto volume = [](const at::Tensor& images) {
    return images.unsqueeze(2).expand({2, 1, 12, 12, 14});
  };
  for (const bool gaussian : {true, false}) {
    const auto options =
        SsimOptions(1).kernel_size(5).gaussian_kernel(gaussian);
    EXPECT_NEAR(value_of<Ssim>(volume(preds), volume(target), options),
                value_of<Ssim>(preds, target, options), 1e-12);
    const auto scales =
        MsSsimOptions(1).kernel_size(5).gaussian_kernel(gaussian).betas(
            {0.5, 0.5});
    EXPECT_NEAR(value_of<MsSsim>(volume(preds), volume(target), scales),
                value_of<MsSsim>(preds, target, scales), 1e-12);
  }
}

// Rows of several bands, and columns of whole vectors and of others.
TEST(StructuralSimilarityTest, GradientsAreThoseOfLibTorchsOperations) {
  const internal::image::Taps taps = internal::image::gaussian_taps(11, 1.5);
  for (const std::int64_t width : {11, 16, 37}) {
    const at::Tensor preds = at::rand({3, 150, width}, at::kDouble);
    const at::Tensor target = at::rand({3, 150, width}, at::kDouble);
    const at::Tensor weights = at::randn({3, 2}, at::kDouble);
    const auto gradients = [&](bool of_preds, bool of_target, bool composed) {
      const at::Tensor p = preds.clone().set_requires_grad(of_preds);
      const at::Tensor t = target.clone().set_requires_grad(of_target);
      // Planes of volumes one deep, with windows one deep.
      const auto shaped = [&](const at::Tensor& x) {
        return composed ? at::stack({x, x, x, x, x, x, x, x, x, x, x}, 1) : x;
      };
      const at::Tensor means = internal::image::structural_similarity(
          shaped(p), shaped(t), taps, {1e-4, 9e-4});
      means.mul(weights).sum().backward();
      return std::make_pair(p.grad(), t.grad());
    };
    const auto expected = gradients(true, true, true);
    const auto both = gradients(true, true, false);
    const double scale = expected.first.abs().max().item<double>();
    const auto expect_near = [&](const at::Tensor& a, const at::Tensor& b) {
      EXPECT_LT(a.sub(b).abs().max().item<double>(), 1e-11 * scale);
    };
    expect_near(both.first, expected.first);
    expect_near(both.second, expected.second);
    expect_near(gradients(true, false, false).first, expected.first);
    expect_near(gradients(false, true, false).second, expected.second);
  }
}

// Planes with a region of 0, others that are constant, and bands of rows.
TEST(UniversalIndexTest, GradientsAreThoseOfLibTorchsOperations) {
  const internal::image::Taps taps = internal::image::uniform_taps(8);
  for (const std::int64_t width : {16, 37}) {
    at::Tensor preds = at::rand({2, 150, width}, at::kDouble);
    at::Tensor target = at::rand({2, 150, width}, at::kDouble);
    for (at::Tensor* planes : {&preds, &target}) {
      planes->narrow(1, 20, 40).narrow(2, 3, 12).fill_(0);
      planes->narrow(1, 120, 20).narrow(2, 0, 13).fill_(0.25);
      planes->set_requires_grad(true);
    }
    const at::Tensor means = internal::image::structural_similarity(
        preds, target, taps, {/*c1=*/0, /*c2=*/0, /*has_flat=*/true});
    const at::Tensor weights = at::randn({2, 2}, at::kDouble);
    const auto gradients = [&](bool composed) {
      return torch::autograd::grad({means}, {preds, target}, {weights},
                                   /*retain_graph=*/true, composed);
    };
    const auto expected = gradients(true), fused = gradients(false);
    for (const std::size_t i : {0, 1}) {
      EXPECT_TRUE(expected[i].requires_grad());
      EXPECT_TRUE(fused[i].isfinite().all().item<bool>());
      const double scale = expected[i].abs().max().item<double>();
      EXPECT_LT(fused[i].sub(expected[i]).abs().max().item<double>(),
                1e-9 * scale);
    }
  }
}

using Continue = std::function<at::Tensor(const at::Tensor&)>;

// The gradient, and that of its squares' sum.
std::pair<at::Tensor, at::Tensor> gradients_of(const Continue& continued,
                                               const at::Tensor& values) {
  const at::Tensor x = values.clone().requires_grad_();
  const at::Tensor first = torch::autograd::grad({continued(x).pow(3).sum()},
                                                 {x}, {}, /*retain_graph=*/true,
                                                 /*create_graph=*/true)[0];
  return {first, torch::autograd::grad({first.square().sum()}, {x})[0]};
}

TEST(ContinuationTest, IsThatOfLibTorchsOperations) {
  namespace image = internal::image;
  const auto mirror = [](const at::Tensor& values, std::int64_t dim,
                         std::int64_t before, std::int64_t after) {
    const std::int64_t length = values.size(dim);
    return at::cat({values.narrow(dim, 0, before).flip(dim), values,
                    values.narrow(dim, length - after, after).flip(dim)},
                   dim);
  };
  const std::pair<Continue, Continue> pairs[] = {
      {[](const at::Tensor& x) { return image::reflected(x, 3, 2); },
       [](const at::Tensor& x) {
         return at::reflection_pad2d(x, {3, 3, 3, 3});
       }},
      {[](const at::Tensor& x) { return image::mirrored(x, 4, 2); },
       [&](const at::Tensor& x) {
         return mirror(mirror(x, 2, 4, 2), 3, 4, 2);
       }}};
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor values = at::rand({2, 3, 4, 6}).to(type);
    for (const auto& [continued, expected] : pairs) {
      EXPECT_TRUE(continued(values).equal(expected(values))) << type;
      if (type != at::kDouble) continue;
      const auto [first, second] = gradients_of(continued, values);
      const auto [own_first, own_second] = gradients_of(expected, values);
      EXPECT_TRUE(first.allclose(own_first, 1e-12));
      EXPECT_TRUE(second.allclose(own_second, 1e-12));
    }
  }
}

TEST(StructuralSimilarityTest, KeepsNoMaps) {
  const at::Tensor preds = at::rand({1, 1, 32, 32}).set_requires_grad(true);
  losses::MetricLoss loss{Ssim(1.0)};
  const at::Tensor value = loss->forward(preds, at::rand({1, 1, 32, 32}));
  value.backward();
  EXPECT_GT(preds.grad().abs().sum().item<double>(), 0);
}

TEST(StructuralSimilarityTest, RefusesSmallImages) {
  Ssim metric(1.0);
  EXPECT_THAT(
      refusal_of([&] {
        metric.update(at::zeros({1, 1, 11, 10}), at::zeros({1, 1, 11, 10}));
      }),
      HasSubstr("expected images of at least 11 pixels in each "
                "dimension, for windows of 11, got [1, 1, 11, 10], whose "
                "dimension 1 is the channels"));
  EXPECT_THAT(refusal_of([&] {
                metric.update(at::zeros({20, 20}), at::zeros({20, 20}));
              }),
              HasSubstr("[N, C, H, W] or [N, C, D, H, W]"));
  MsSsim scales(1.0);
  EXPECT_THAT(
      refusal_of([&] {
        scales.update(at::zeros({1, 1, 175, 200}), at::zeros({1, 1, 175, 200}));
      }),
      HasSubstr("expected images of at least 176 pixels"));
  EXPECT_THAT(refusal_of([] { Ssim(SsimOptions(1).kernel_size(4)); }),
              HasSubstr("expected an odd kernel_size, got 4"));
  EXPECT_THAT(refusal_of([] { Ssim(SsimOptions(1).kernel_size(65537)); }),
              HasSubstr("expected kernel_size of at most 65535, got 65537"));
  EXPECT_THAT(refusal_of([] { MsSsim(MsSsimOptions(1).betas({})); }),
              HasSubstr("expected 1 to 16 betas, got 0"));
}

TEST(MultiScaleStructuralSimilarityTest, AnOddLastRowIsLeftOut) {
  const auto options = MsSsimOptions(1).kernel_size(5).betas({1e-9, 1});
  const at::Tensor preds = at::rand({1, 1, 25, 25}, at::kDouble);
  const at::Tensor target = at::rand({1, 1, 25, 25}, at::kDouble);
  const auto even = [](const at::Tensor& images) {
    return images.narrow(2, 0, 24).narrow(3, 0, 24);
  };
  EXPECT_NEAR(value_of<MsSsim>(preds, target, options),
              value_of<MsSsim>(even(preds), even(target), options), 1e-6);
}

TEST(StructuralSimilarityTest, TheRangeOfValuesIsRequired) {
  EXPECT_THAT(refusal_of([] { Ssim(0.0); }),
              HasSubstr("expected data_range above 0 and finite, got 0"));
}

// Contrast is below 0 where one image is the negative of the other.
TEST(MultiScaleStructuralSimilarityTest, NegativeFactors) {
  const at::Tensor target = at::rand({1, 1, 24, 24}, at::kDouble);
  const at::Tensor preds = (1 - target).set_requires_grad(true);
  const auto options = [] {
    return MsSsimOptions(1).kernel_size(5).betas({0.5, 0.5});
  };
  MsSsim relu(options());
  const at::Tensor value = relu.forward(preds, target);
  EXPECT_EQ(value.item<double>(), 0);
  value.backward();
  EXPECT_EQ(preds.grad().abs().sum().item<double>(), 0);
  EXPECT_GT(value_of<MsSsim>(preds.detach(), target,
                             options().normalize(FactorRule::kSimple)),
            0);
  EXPECT_TRUE(std::isnan(value_of<MsSsim>(
      preds.detach(), target, options().normalize(FactorRule::kNone))));
}

TEST(StructuralSimilarityTest, IsNaNForNaN) {
  at::Tensor preds = at::rand({1, 1, 30, 30});
  const at::Tensor target = at::rand({1, 1, 30, 30});
  preds[0][0][29][29] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(value_of<Ssim>(preds, target, 1.0)));
}

}  // namespace
}  // namespace tally
