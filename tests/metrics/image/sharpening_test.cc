#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "tally/metrics/image/image.h"
#include "tally/metrics/image/kernels/windows.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

template <class M>
double value_of(const at::Tensor& preds, const at::Tensor& target,
                const typename M::Options& options = {}) {
  M metric(options);
  return metric.forward(preds, target).template item<double>();
}

testkit::HarnessOptions differentiable_in(std::vector<std::size_t> inputs,
                                          bool small = true) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = std::move(inputs);
  // Those of many pixels take long.
  options.skip_gradients = {"integers", "gaussian",  "p",
                            "pan_lr",   "exponents", "norm_order"};
  if (!small) return options;
  options.skip_gradients.insert("default");
  return options;
}

TEST(SharpeningTest, MetricsOfPairsPassTheHarness) {
  const auto all = differentiable_in({0, 1}, /*small=*/false);
  testkit::check_metric<SpectralAngleMapper>("image/SpectralAngleMapper", all);
  testkit::check_metric<ErrorRelativeGlobalDimensionlessSynthesis>(
      "image/ErrorRelativeGlobalDimensionlessSynthesis", all);
  const auto options = differentiable_in({0, 1});
  testkit::check_metric<UniversalImageQualityIndex>(
      "image/UniversalImageQualityIndex", options);
  testkit::check_metric<RelativeAverageSpectralError>(
      "image/RelativeAverageSpectralError", options);
  testkit::check_metric<RootMeanSquaredErrorUsingSlidingWindow>(
      "image/RootMeanSquaredErrorUsingSlidingWindow", options);
  testkit::check_metric<SpatialCorrelationCoefficient>(
      "image/SpatialCorrelationCoefficient", options);
  testkit::check_metric<SpectralDistortionIndex>(
      "image/SpectralDistortionIndex", options);
}

TEST(SharpeningTest, MetricsOfSharpenedImagesPassTheHarness) {
  const auto options = differentiable_in({0, 1, 2});
  testkit::check_metric<SpatialDistortionIndex>("image/SpatialDistortionIndex",
                                                options);
  testkit::check_metric<QualityWithNoReference>("image/QualityWithNoReference",
                                                options);
}

TEST(UniversalImageQualityIndexTest, ConstantWindowsAreDefined) {
  const auto flat = [](double value) {
    return at::full({1, 1, 9, 9}, value, at::kDouble);
  };
  using Uqi = UniversalImageQualityIndex;
  EXPECT_EQ(value_of<Uqi>(flat(0.1), flat(0.1)), 1);
  EXPECT_EQ(value_of<Uqi>(flat(0), flat(0)), 1);
  EXPECT_NEAR(value_of<Uqi>(flat(0.1), flat(0.3)), 2 * 0.03 / 0.1, 1e-14);
  const at::Tensor preds = flat(0.1).set_requires_grad(true);
  Uqi metric;
  metric.forward(preds, flat(0.1)).backward();
  EXPECT_TRUE(preds.grad().isfinite().all().item<bool>());
  EXPECT_THAT(refusal_of([&] {
                value_of<Uqi>(at::ones({1, 1, 7, 9}), at::ones({1, 1, 7, 9}));
              }),
              HasSubstr("expected images of at least 8 pixels in each "
                        "dimension, for windows of 8, got [1, 1, 7, 9]"));
}

TEST(ErrorRelativeGlobalTest, TheRatioDivides) {
  // A relative error of 0.1.
  const at::Tensor target = at::full({1, 1, 4, 4}, 2.0, at::kDouble);
  for (const double ratio : {1.0, 4.0}) {
    ErrorRelativeGlobalDimensionlessSynthesis ergas(
        ErrorRelativeGlobalDimensionlessSynthesisOptions().ratio(ratio));
    EXPECT_NEAR(ergas.forward(target.add(0.2), target).item<double>(),
                10 / ratio, 1e-12);
  }
}

TEST(SpectralAngleMapperTest, EqualSpectraHaveNoAngle) {
  const at::Tensor target = at::rand({1, 3, 4, 4});
  const at::Tensor preds = target.clone().set_requires_grad(true);
  SpectralAngleMapper sam;
  const at::Tensor value = sam.forward(preds, target);
  EXPECT_EQ(value.item<double>(), 0);
  value.backward();
  EXPECT_EQ(preds.grad().abs().sum().item<double>(), 0);
  EXPECT_NEAR(value_of<SpectralAngleMapper>(target, target.mul(3)), 0, 1e-7);
  EXPECT_NEAR(value_of<SpectralAngleMapper>(target, target.neg()), M_PI, 1e-7);
}

// Of four pixels one is black in preds, one in target, one in both.
TEST(SpectralAngleMapperTest, BlackIsLikeBlackAlone) {
  at::Tensor target = at::ones({1, 2, 1, 4}, at::kDouble);
  at::Tensor preds = target.clone();
  preds.select(3, 1).zero_();
  target.select(3, 2).zero_();
  preds.select(3, 3).zero_();
  target.select(3, 3).zero_();
  preds.requires_grad_();
  SpectralAngleMapper sam;
  const at::Tensor value = sam.forward(preds, target);
  EXPECT_NEAR(value.item<double>(), 2 * (M_PI / 2) / 4, 1e-15);
  value.backward();
  EXPECT_TRUE(preds.grad().isfinite().all().item<bool>());
  EXPECT_THAT(refusal_of([&] {
                sam.update(at::ones({1, 1, 2, 2}), at::ones({1, 1, 2, 2}));
              }),
              HasSubstr("expected images of at least 2 channels, got 1"));
}

TEST(SharpeningTest, ErrorsRelativeToNegativeMeansAreErrors) {
  const at::Tensor target = at::rand({1, 2, 12, 12}, at::kDouble).add(1);
  const at::Tensor preds = target.add(0.1);
  EXPECT_NEAR(value_of<RelativeAverageSpectralError>(preds.neg(), target.neg()),
              value_of<RelativeAverageSpectralError>(preds, target), 1e-12);
}

TEST(SharpeningTest, EqualImagesHaveGradientsOfZero) {
  const at::Tensor image = at::rand({1, 2, 12, 12}, at::kDouble).add(0.5);
  const auto gradient_of = [&](auto metric) {
    const at::Tensor preds = image.clone().set_requires_grad(true);
    const at::Tensor value = metric.forward(preds, image);
    EXPECT_EQ(value.template item<double>(), 0);
    value.backward();
    return preds.grad().abs().sum().template item<double>();
  };
  EXPECT_EQ(gradient_of(ErrorRelativeGlobalDimensionlessSynthesis()), 0);
  EXPECT_EQ(gradient_of(RelativeAverageSpectralError()), 0);
  EXPECT_EQ(gradient_of(RootMeanSquaredErrorUsingSlidingWindow()), 0);
  EXPECT_EQ(gradient_of(
                SpectralDistortionIndex(SpectralDistortionIndexOptions().p(2))),
            0);
}

// TorchMetrics has 1579 for two images together, whose mean is 2326.
TEST(SharpeningTest, ValuesDoNotDependOnTheBatch) {
  const at::Tensor preds = at::rand({3, 2, 12, 12}, at::kDouble);
  const at::Tensor target = at::rand({3, 2, 12, 12}, at::kDouble);
  const auto check = [&](auto together, auto apart) {
    together.update(preds, target);
    for (std::int64_t i = 0; i < 3; ++i) {
      apart.update(preds.narrow(0, i, 1), target.narrow(0, i, 1));
    }
    EXPECT_EQ(together.compute().template item<double>(),
              apart.compute().template item<double>());
  };
  check(RelativeAverageSpectralError(), RelativeAverageSpectralError());
  check(RootMeanSquaredErrorUsingSlidingWindow(),
        RootMeanSquaredErrorUsingSlidingWindow());
  check(SpatialCorrelationCoefficient(), SpatialCorrelationCoefficient());
  check(SpectralDistortionIndex(), SpectralDistortionIndex());
}

TEST(NeighborDifferencesTest, AreThoseOfLibTorchsOperations) {
  for (const std::int64_t height : {1, 2, 7}) {
    for (const std::int64_t width : {1, 2, 3, 10, 37}) {
      const at::Tensor images = at::rand({2, 3, height, width}, at::kDouble);
      const at::Tensor by_operations = internal::image::neighbor_differences(
          images.clone().requires_grad_());
      EXPECT_TRUE(by_operations.requires_grad());
      EXPECT_TRUE(
          internal::image::neighbor_differences(images).equal(by_operations))
          << height << " by " << width;
    }
  }
}

// Sums of neighbors would leave rounding, whose correlation is anything.
TEST(SpatialCorrelationCoefficientTest, NoEdgesNoCorrelation) {
  using Scc = SpatialCorrelationCoefficient;
  const at::Tensor flat = at::full({1, 1, 16, 16}, 0.1, at::kDouble);
  const at::Tensor other = at::full({1, 1, 16, 16}, 0.7, at::kDouble);
  EXPECT_EQ(value_of<Scc>(flat, other), 0);
  const at::Tensor ramp = at::arange(16, at::kDouble)
                              .mul(0.1)
                              .reshape({1, 1, 1, 16})
                              .expand({1, 1, 16, 16});
  const at::Tensor image = at::rand({1, 1, 16, 16}, at::kDouble);
  EXPECT_NEAR(value_of<Scc>(image, image), 1, 1e-12);
  EXPECT_LT(std::abs(value_of<Scc>(ramp, image)), 0.8);
}

TEST(SpatialDistortionIndexTest, APanchromaticImageOfOneChannelServesAll) {
  const at::Tensor preds = at::rand({2, 3, 16, 16});
  const at::Tensor ms = at::rand({2, 3, 8, 8}), pan = at::rand({2, 1, 16, 16});
  SpatialDistortionIndex one, all;
  one.update(preds, ms, pan);
  all.update(preds, ms, pan.expand({2, 3, 16, 16}));
  EXPECT_EQ(one.compute().item<double>(), all.compute().item<double>());
}

TEST(SpatialDistortionIndexTest, RefusesImagesThatDoNotFit) {
  QualityWithNoReference metric;
  const auto refusal = [&](std::vector<std::int64_t> ms,
                           std::vector<std::int64_t> pan) {
    return refusal_of([&] {
      metric.update(at::ones({2, 3, 16, 16}), at::ones(ms), at::ones(pan));
    });
  };
  EXPECT_THAT(refusal({2, 2, 8, 8}, {2, 3, 16, 16}),
              HasSubstr("expected preds and ms with as many images and "
                        "channels, got [2, 3, 16, 16] and [2, 2, 8, 8]"));
  EXPECT_THAT(refusal({2, 3, 9, 8}, {2, 3, 16, 16}),
              HasSubstr("multiples of those of ms"));
  EXPECT_THAT(refusal({2, 3, 8, 8}, {2, 2, 16, 16}),
              HasSubstr("expected pan of the shape of preds, or with a single "
                        "channel, got [2, 2, 16, 16]"));
  EXPECT_EQ(metric.update_count(), 0);
  EXPECT_THAT(
      refusal_of([] {
        QualityWithNoReference(QualityWithNoReferenceOptions().alpha(-1));
      }),
      HasSubstr("expected alpha of at least 0, got -1"));
}

}  // namespace
}  // namespace tally
