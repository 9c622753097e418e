#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of VisualInformationFidelity.
///
/// Example:
///     VisualInformationFidelity vif(
///         VisualInformationFidelityOptions(255).luma(true));
struct VisualInformationFidelityOptions
    : ImageOptions<VisualInformationFidelityOptions> {
  /// The difference of the largest and the smallest value that an image can
  /// have, above 0: 1 or 255, say.
  VisualInformationFidelityOptions(double data_range)
      : data_range_(data_range) {}
  explicit VisualInformationFidelityOptions(internal::Unset) {}

  /// The difference of the largest and the smallest value that an image can
  /// have, above 0.
  TORCH_ARG(double, data_range) = 0;
  /// The variance of the visual noise, for images from 0 to 255.
  TORCH_ARG(double, sigma_n_sq) = 2;
  /// Whether the luma of RGB images is compared instead of each channel.
  TORCH_ARG(bool, luma) = false;

 public:
  void visit(OptionVisitor& v) {
    v("data_range", data_range_, internal::words::kDataRange);
    v("sigma_n_sq", sigma_n_sq_,
      "Variance of the noise of vision, for images from 0 to 255.");
    v("luma", luma_,
      "Whether the luma of RGB images is compared, not each channel.");
    ImageOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of VisualInformationFidelity.
class VisualInformation : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "VisualInformation";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = VisualInformationFidelityOptions;
  explicit VisualInformation(const Options& options) : options_(options) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  std::optional<double> data_range() const override {
    return options_.data_range();
  }

 private:
  VisualInformationFidelityOptions options_;
};

/// Visual information fidelity (VIF) of images, in the pixel domain: the
/// fraction of the visual information of target that is left in preds.
///
///     sum of log(1 + g^2 s^2 / (v + n)) / sum of log(1 + s^2 / n)
///
/// over windows of four scales, with the variance s^2 of target, and the gain g
/// and the residual variance v of preds; n is the variance of the visual noise.
/// Computed for each channel, averaged over channels, then over images. A
/// constant target has no information: 1 if preds are constant, too, else 0.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes; at
/// least 41 x 41 pixels.
/// Result: 0-dim float64, 0 or more, 1 for equal images, above 1 for more
/// contrast; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, for NaN with NanPolicy::kError, and for values of the target,
/// or of integer preds, further apart than data_range (floating-point preds,
/// such as those of a network that learns, may leave it; unchecked without
/// validate_args); c10::TypeError for complex or sparse inputs. Differentiable
/// in preds and target. Source: Sheikh and Bovik 2006, as in sewar and
/// TorchMetrics, which take images from 0 to 255.
///
/// Example:
///     VisualInformationFidelity vif(/*data_range=*/1.0);
///     vif.update(at::rand({2, 3, 64, 64}), at::rand({2, 3, 64, 64}));
///     double value = vif.compute().item<double>();
class VisualInformationFidelity final
    : public MetricOf<VisualInformationFidelity, ImageScores<VisualInformation>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "VisualInformationFidelity";
  static constexpr MetricSummary kSummary{
      "Fraction of an image's visual information that is preserved (VIF).",
      "[0, inf]",
      "data_range=1",
      "vif, vifp, information fidelity",
      R"(\frac{\sum_s \log_2 (1 + g_s^2 \sigma_s^2 / (\sigma_{v,s}^2 + \sigma_n^2))}{\sum_s \log_2 (1 + \sigma_s^2 / \sigma_n^2)})",
      "Sheikh and Bovik 2006"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<VisualInformationFidelity,
                               ImageScores<VisualInformation>, at::Tensor>;

}  // namespace tally
