#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/universal_image_quality_index.h"

namespace tally {

/// Options of SpectralDistortionIndex.
///
/// Example:
///     SpectralDistortionIndex d_lambda(SpectralDistortionIndexOptions().p(2));
struct SpectralDistortionIndexOptions
    : UniversalOptions<SpectralDistortionIndexOptions> {
  TORCH_ARG(std::int64_t, p) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("p", p_, internal::words::kNormOrder);
    UniversalOptions::visit(v);
  }
  void validate(const char* metric) const;
};

namespace internal::image {

/// D_lambda of each image, float64 [N], with windows of `taps`.
at::Tensor spectral_distortion(const at::Tensor& preds,
                               const at::Tensor& target, const Taps& taps,
                               std::int64_t p);
/// That preds and the other are [N, C, H, W] and [N, C, h, w], as large as a
/// window.
void check_bands(const at::Tensor& preds, const char* other_input,
                 const at::Tensor& other, std::int64_t window);

inline constexpr InputInfo kBandInputs[] = {
    {"preds", InputKind::kReal, "real sharpened images [N, C, H, W]"},
    {"target", InputKind::kReal, "real original images [N, C, h, w]"}};

}  // namespace internal::image

/// The score of SpectralDistortionIndex.
class SpectralDistortion : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SpectralDistortion";
  static constexpr const auto& kInputs = internal::image::kBandInputs;
  using Options = SpectralDistortionIndexOptions;
  explicit SpectralDistortion(const Options& options)
      : taps_(options.taps()), p_(options.p()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;

 private:
  internal::image::Taps taps_;
  std::int64_t p_;
};

/// The spectral distortion index (D_lambda) of sharpened images: how much the
/// similarities between their channels differ from those in the originals.
///
///     (mean over channels c < d of |Q(p_c, p_d) - Q(t_c, t_d)|^p)^(1 / p)
///
/// with the universal quality index Q (see UniversalImageQualityIndex, which
/// also has its options) of each image; averaged over images.
/// update(preds, target): [N, C, H, W] and [N, C, h, w] of any real dtypes:
/// sharpened images and their originals of low resolution.
/// Result: 0-dim float64, in [0, 2] for each image, 0 for a single channel; NaN
/// without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds and target; a distortion of 0 has a gradient of 0.
/// Source: Alparone et al. 2008.
///
/// Example:
///     SpectralDistortionIndex d_lambda;
///     d_lambda.update(at::rand({2, 4, 32, 32}), at::rand({2, 4, 16, 16}));
///     double value = d_lambda.compute().item<double>();
class SpectralDistortionIndex final
    : public MetricOf<SpectralDistortionIndex, ImageScores<SpectralDistortion>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SpectralDistortionIndex";
  static constexpr MetricSummary kSummary{
      "Change of the similarity between bands (D_lambda).",
      "[0, 2]",
      "",
      "d_lambda, spectral distortion",
      R"(\left( \frac{1}{C (C - 1)} \sum_{i \ne j} |Q(\hat x_i, \hat x_j) - Q(x_i, x_j)|^p \right)^{1/p})",
      "Alparone et al. 2008"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SpectralDistortionIndex,
                               ImageScores<SpectralDistortion>, at::Tensor>;

}  // namespace tally
