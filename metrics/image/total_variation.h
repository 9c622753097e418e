#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of TotalVariation.
///
/// Example:
///     TotalVariation variation(
///         TotalVariationOptions().reduction(ImageReduction::kMean));
struct TotalVariationOptions {
  /// How the values of images become one.
  TORCH_ARG(ImageReduction, reduction) = ImageReduction::kSum;

 public:
  void visit(OptionVisitor& v) {
    v("reduction", reduction_, OptionRole::kValue,
      internal::words::kReducedSamples);
  }
};

/// The observer of TotalVariation.
class Variations {
 public:
  static constexpr const char* kName = "Variations";
  static constexpr InputInfo kInputs[] = {
      {"img", InputKind::kReal, "real images [N, C, H, W]"}};
  static constexpr const char* kUnit = "image";
  using Options = TotalVariationOptions;
  using State = ImageScoresState;

  Variations(const Options&, const MetricOptions& metric_options)
      : rules_(metric_options) {}

  State observe(const at::Tensor& img) const;

 private:
  internal::image::ImageRules rules_;
};

/// The total variation of images, anisotropic: the sum of the absolute
/// differences of neighboring pixels.
///
///     sum |x[i + 1, j] - x[i, j]| + sum |x[i, j + 1] - x[i, j]|
///
/// over pixels and channels of an image; over images the sum, or the mean.
/// update(img): [N, C, H, W] of any real dtype.
/// Result: 0-dim float64, 0 or more. Without updates a sum is 0 and a mean NaN.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other shapes, and for NaN with
/// NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Differentiable in img; equal neighbors have a gradient of 0.
/// Source: Rudin, Osher and Fatemi 1992, with absolute values, as in
/// TorchMetrics.
///
/// Example:
///     TotalVariation variation;
///     variation.update(at::rand({4, 3, 32, 32}));
///     double value = variation.compute().item<double>();
class TotalVariation final
    : public MetricOf<TotalVariation, Variations, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TotalVariation";
  static constexpr MetricSummary kSummary{
      "Sum of absolute differences of neighboring pixels.",
      "[0, inf]",
      "",
      "tv, total variation",
      R"(\sum |x_{i+1,j} - x_{ij}| + |x_{i,j+1} - x_{ij}|)",
      "Rudin, Osher and Fatemi 1992"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TotalVariation, Variations, at::Tensor>;

}  // namespace tally
