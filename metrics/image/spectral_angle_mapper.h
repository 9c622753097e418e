#pragma once

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of SpectralAngleMapper.
///
/// Example:
///     SpectralAngleMapper sam(
///         SpectralAngleMapperOptions().reduction(ImageReduction::kSum));
struct SpectralAngleMapperOptions : ImageOptions<SpectralAngleMapperOptions> {};

/// The score of SpectralAngleMapper.
class SpectralAngle : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SpectralAngle";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = SpectralAngleMapperOptions;
  explicit SpectralAngle(const Options&) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_any_dtype() const override { return true; }
};

/// The spectral angle mapper (SAM): the angle between the spectra of pixels, in
/// radians.
///
///     2 atan2(|u |v| - v |u||, |u |v| + v |u||)
///
/// for the channels u and v of a pixel, which is arccos(u v / (|u| |v|))
/// without its rounding errors; averaged over the pixels of an image, then over
/// images.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes; at
/// least two channels.
/// Result: 0-dim float64, in [0, pi] for each image, 0 for equal ones; a pixel
/// that is 0 in all channels of one image alone has an angle of pi / 2, as its
/// cosine would be 0, and in both images of 0. NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, and for NaN with
/// NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target; an angle of 0 has a gradient of 0.
/// Source: Yuhas, Goetz and Boardman 1992.
///
/// Example:
///     SpectralAngleMapper sam;
///     sam.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = sam.compute().item<double>();
class SpectralAngleMapper final
    : public MetricOf<SpectralAngleMapper, ImageScores<SpectralAngle>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SpectralAngleMapper";
  static constexpr MetricSummary kSummary{
      "Angle between the spectra of pixels (SAM).",
      "[0, pi]",
      "",
      "sam, spectral angle",
      R"(\arccos \frac{\langle x, y \rangle}{\|x\| \|y\|})",
      "Yuhas, Goetz and Boardman 1992"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SpectralAngleMapper, ImageScores<SpectralAngle>,
                               at::Tensor>;

}  // namespace tally
