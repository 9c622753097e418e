#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/kernels/structural.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Which windows count.
enum class ImageBorder {
  kValid,    ///< those that lie within the image
  kReflect,  ///< one for each pixel, of the image continued by its mirror image
  kZero,     ///< one for each pixel, of the image continued by zeros
};

template <>
struct EnumNames<ImageBorder> {
  static constexpr const char* kNames[] = {"valid", "reflect", "zero"};
};

/// Options of metrics of structural similarity.
template <class Self>
struct StructuralOptions : ImageOptions<Self> {
  explicit StructuralOptions(double data_range) : data_range_(data_range) {}

  /// The difference of the largest and the smallest value that an image can
  /// have, above 0.
  TALLY_INHERITED_ARG(Self, double, data_range) = 0;
  /// Whether windows are Gaussian; if not, all their pixels weigh the same.
  TALLY_INHERITED_ARG(Self, bool, gaussian_kernel) = true;
  TALLY_INHERITED_ARG(Self, double, sigma) = 1.5;
  /// The size of windows in each dimension, odd.
  TALLY_INHERITED_ARG(Self, std::int64_t, kernel_size) = 11;
  /// The constant of luminance is (k1 data_range)^2.
  TALLY_INHERITED_ARG(Self, double, k1) = 0.01;
  /// The constant of contrast is (k2 data_range)^2.
  TALLY_INHERITED_ARG(Self, double, k2) = 0.03;
  /// Default: kValid, as in the original and in scikit-image.
  TALLY_INHERITED_ARG(Self, ImageBorder, border) = ImageBorder::kValid;

 public:
  void visit(OptionVisitor& v) {
    v("data_range", data_range_, internal::words::kDataRange);
    v("gaussian_kernel", gaussian_kernel_, internal::words::kGaussianKernel);
    v("sigma", sigma_, internal::words::kSigma);
    v("kernel_size", kernel_size_, internal::words::kKernelSize);
    v("k1", k1_, "Constant of luminance, relative to data_range.");
    v("k2", k2_, "Constant of contrast, relative to data_range.");
    v("border", border_,
      "Only windows inside the image, or the image mirrored or zero-padded.");
    ImageOptions<Self>::visit(v);
  }
};

namespace internal::image {

/// What structural similarity takes of the options.
struct StructuralRule {
  Taps taps;
  SsimConstants constants;
  ImageBorder border;
  double data_range;

  /// Throws c10::ValueError for options out of range.
  template <class Self>
  static StructuralRule of(const char* metric,
                           const StructuralOptions<Self>& options) {
    return make(metric, options.data_range(), options.gaussian_kernel(),
                options.sigma(), options.kernel_size(), options.k1(),
                options.k2(), options.border());
  }
  static StructuralRule make(const char* metric, double data_range,
                             bool gaussian_kernel, double sigma,
                             std::int64_t kernel_size, double k1, double k2,
                             ImageBorder border);
  /// Similarity and contrast of each channel, float64 [N, C, 2].
  at::Tensor compare(const at::Tensor& preds, const at::Tensor& target) const;
  /// That images [N, C, H, W] or [N, C, D, H, W] hold a window, after having
  /// been halved `halvings` times.
  void check(Tensors images, std::int64_t halvings = 0) const;
};

inline constexpr InputInfo kVolumeInputs[] = {
    {"preds", InputKind::kReal, "real images [N, C, H, W] or [N, C, D, H, W]"},
    {"target", InputKind::kReal,
     "real images [N, C, H, W] or [N, C, D, H, W]"}};

}  // namespace internal::image

/// Options of StructuralSimilarityIndexMeasure.
///
/// Example:
///     StructuralSimilarityIndexMeasure ssim(
///         StructuralSimilarityIndexMeasureOptions(255).kernel_size(7));
struct StructuralSimilarityIndexMeasureOptions
    : StructuralOptions<StructuralSimilarityIndexMeasureOptions> {
  /// The difference of the largest and the smallest value that an image can
  /// have, above 0: 1 or 255, say.
  StructuralSimilarityIndexMeasureOptions(double data_range)
      : StructuralOptions(data_range) {}
  explicit StructuralSimilarityIndexMeasureOptions(internal::Unset)
      : StructuralOptions(0) {}

  void validate(const char* metric) const;
};

/// The score of StructuralSimilarityIndexMeasure.
class StructuralSimilarity : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "StructuralSimilarity";
  static constexpr const auto& kInputs = internal::image::kVolumeInputs;
  using Options = StructuralSimilarityIndexMeasureOptions;
  explicit StructuralSimilarity(const Options& options);

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  std::optional<double> data_range() const override { return rule_.data_range; }
  bool takes_any_dtype() const override { return true; }

 private:
  internal::image::StructuralRule rule_;
};

/// The structural similarity (SSIM) of images, which compares luminance,
/// contrast and structure in windows around each pixel.
///
///     (2 mx my + c1) (2 sxy + c2) / ((mx^2 + my^2 + c1) (sx^2 + sy^2 + c2))
///
/// with the weighted means, variances and covariance of a window (those of a
/// population), c1 = (k1 data_range)^2 and c2 = (k2 data_range)^2; the mean
/// over windows and channels of an image, then over images. Windows are those
/// of the original, Gaussian of 11 x 11 pixels and within the image;
/// TorchMetrics also counts those across the border (`border`), and so do
/// programs that convolve with zero padding, such as those of Gaussian
/// splatting: ImageBorder::kZero has their values. Means are
/// subtracted before variances are computed, which keeps the digits of bright
/// images of low contrast.
/// update(preds, target): [N, C, H, W], or volumes [N, C, D, H, W], of the same
/// shape; any real dtypes.
/// Result: 0-dim float64, in [-1, 1] for each image, 1 for equal ones; NaN
/// without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN and infinities: give NaN; NanPolicy::kIgnore skips images with NaN.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window (than half of one with kReflect), for NaN with
/// NanPolicy::kError, and for values of the target, or of integer preds,
/// further apart than data_range (floating-point preds, such as those of a
/// network that learns, may leave it; unchecked without validate_args);
/// c10::TypeError for complex or sparse inputs. Differentiable in preds and
/// target. On the CPU, images are computed in their dtype (float32 or float64),
/// in one pass forward and one backward, without memory of their size besides
/// the gradient; volumes are computed in float64. Source: Wang, Bovik, Sheikh
/// and Simoncelli 2004.
///
/// Example:
///     StructuralSimilarityIndexMeasure ssim(/*data_range=*/1.0);
///     ssim.update(at::rand({4, 3, 64, 64}), at::rand({4, 3, 64, 64}));
///     double value = ssim.compute().item<double>();
class StructuralSimilarityIndexMeasure final
    : public MetricOf<StructuralSimilarityIndexMeasure,
                      ImageScores<StructuralSimilarity>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "StructuralSimilarityIndexMeasure";
  static constexpr MetricSummary kSummary{
      "Structural similarity in windows of two images (SSIM).",
      "[-1, 1]",
      "data_range=1",
      "ssim, structural similarity",
      R"(\frac{(2 \mu_x \mu_y + c_1)(2 \sigma_{xy} + c_2)}{(\mu_x^2 + \mu_y^2 + c_1)(\sigma_x^2 + \sigma_y^2 + c_2)})",
      "Wang et al. 2004"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<StructuralSimilarityIndexMeasure,
                               ImageScores<StructuralSimilarity>, at::Tensor>;

}  // namespace tally
