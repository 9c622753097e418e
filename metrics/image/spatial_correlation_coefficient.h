#pragma once

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of SpatialCorrelationCoefficient.
///
/// Example:
///     SpatialCorrelationCoefficient scc(
///         SpatialCorrelationCoefficientOptions().window_size(5));
struct SpatialCorrelationCoefficientOptions
    : WindowOptions<SpatialCorrelationCoefficientOptions> {};

/// The score of SpatialCorrelationCoefficient.
class SpatialCorrelation : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SpatialCorrelation";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = SpatialCorrelationCoefficientOptions;
  explicit SpatialCorrelation(const Options& options)
      : window_size_(options.window_size()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_several() const override { return true; }

 private:
  std::int64_t window_size_;
};

/// The spatial correlation coefficient (SCC) of images: the correlation of
/// their edges in windows.
///
///     sxy / sqrt(sx^2 sy^2)
///
/// of both images' differences from their eight neighbors (images are continued
/// by their mirror images), in a window around each pixel, beyond the border 0;
/// 0 where either has no variance. Averaged over pixels and channels of an
/// image, then over images.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes.
/// Result: 0-dim float64, in [-1, 1] for each image; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Differentiable in preds and target. Source: Zhou,
/// Civco and Silander 1998, with windows as in sewar and TorchMetrics.
///
/// Example:
///     SpatialCorrelationCoefficient scc;
///     scc.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = scc.compute().item<double>();
class SpatialCorrelationCoefficient final
    : public MetricOf<SpatialCorrelationCoefficient,
                      ImageScores<SpatialCorrelation>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SpatialCorrelationCoefficient";
  static constexpr MetricSummary kSummary{
      "Correlation of edges in windows (SCC).",
      "[-1, 1]",
      "",
      "scc, spatial correlation",
      R"(\frac{\sigma_{xy}}{\sigma_x \sigma_y})",
      "Zhou, Civco and Silander 1998"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SpatialCorrelationCoefficient,
                               ImageScores<SpatialCorrelation>, at::Tensor>;

}  // namespace tally
