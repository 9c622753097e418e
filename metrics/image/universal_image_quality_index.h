#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/kernels/windows.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of the universal quality index and of metrics made of it.
template <class Self>
struct UniversalOptions : ImageOptions<Self> {
  TALLY_INHERITED_ARG(Self, std::int64_t, kernel_size) = 8;
  /// Whether windows are Gaussian, as in TorchMetrics (with a kernel_size of
  /// 11); if not, all their pixels weigh the same.
  TALLY_INHERITED_ARG(Self, bool, gaussian_kernel) = false;
  TALLY_INHERITED_ARG(Self, double, sigma) = 1.5;

 public:
  void visit(OptionVisitor& v) {
    v("kernel_size", kernel_size_, internal::words::kKernelSize);
    v("gaussian_kernel", gaussian_kernel_, internal::words::kGaussianKernel);
    v("sigma", sigma_, internal::words::kSigma);
    ImageOptions<Self>::visit(v);
  }
  void validate(const char* metric) const {
    internal::image::check_window_option(metric, "kernel_size", kernel_size_);
    internal::image::check_positive(metric, "sigma", sigma_);
  }
  internal::image::Taps taps() const {
    return gaussian_kernel_
               ? internal::image::gaussian_taps(kernel_size_, sigma_)
               : internal::image::uniform_taps(kernel_size_);
  }
};

/// Options of UniversalImageQualityIndex.
///
/// Example:
///     UniversalImageQualityIndex uqi(
///         UniversalImageQualityIndexOptions().gaussian_kernel(true).kernel_size(
///             11));
struct UniversalImageQualityIndexOptions
    : UniversalOptions<UniversalImageQualityIndexOptions> {};

/// The score of UniversalImageQualityIndex.
class UniversalQuality : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "UniversalQuality";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = UniversalImageQualityIndexOptions;
  explicit UniversalQuality(const Options& options) : taps_(options.taps()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;

 private:
  internal::image::Taps taps_;
};

/// The universal image quality index (UQI): correlation, luminance and contrast
/// in sliding windows.
///
///     4 sxy mx my / ((sx^2 + sy^2) (mx^2 + my^2))
///
/// with the means, variances and covariance of a window, averaged over windows
/// of 8 x 8 pixels within the image, and channels; then over images. Where both
/// images are constant in a window, only luminance counts; where both are 0,
/// the window counts as 1. Computed in float64, without maps of the images'
/// size. update(preds, target): [N, C, H, W] of the same shape, any real
/// dtypes. Result: 0-dim float64, in [-1, 1] for each image, 1 for equal ones;
/// NaN without images. State: the sum in float64 and the number of images,
/// merged by addition. NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Differentiable in preds and target. Source:
/// Wang and Bovik 2002.
///
/// Example:
///     UniversalImageQualityIndex uqi;
///     uqi.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = uqi.compute().item<double>();
class UniversalImageQualityIndex final
    : public MetricOf<UniversalImageQualityIndex, ImageScores<UniversalQuality>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "UniversalImageQualityIndex";
  static constexpr MetricSummary kSummary{
      "Correlation, luminance and contrast in windows (UQI).",
      "[-1, 1]",
      "",
      "uqi, uiqi, image quality index",
      R"(\frac{4 \sigma_{xy} \mu_x \mu_y}{(\sigma_x^2 + \sigma_y^2)(\mu_x^2 + \mu_y^2)})",
      "Wang and Bovik 2002"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<UniversalImageQualityIndex,
                               ImageScores<UniversalQuality>, at::Tensor>;

}  // namespace tally
