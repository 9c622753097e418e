#pragma once

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of RelativeAverageSpectralError.
///
/// Example:
///     RelativeAverageSpectralError rase(
///         RelativeAverageSpectralErrorOptions().window_size(5));
struct RelativeAverageSpectralErrorOptions
    : WindowOptions<RelativeAverageSpectralErrorOptions> {};

/// The score of RelativeAverageSpectralError.
class AverageSpectralError : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "AverageSpectralError";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = RelativeAverageSpectralErrorOptions;
  explicit AverageSpectralError(const Options& options)
      : window_size_(options.window_size()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_several() const override { return true; }

 private:
  std::int64_t window_size_;
};

/// The relative average spectral error (RASE) of images, in percent.
///
///     100 / m sqrt(mean over channels of the mean squared error)
///
/// in windows around pixels, m being the mean of target over channels and the
/// window; averaged over pixels of an image, then over images. TorchMetrics
/// divides m by window_size^2 once more. For windows and borders see
/// RootMeanSquaredErrorUsingSlidingWindow.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes.
/// Result: 0-dim float64, 0 or more for positive images; infinite where m is 0
/// beside errors; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Differentiable in preds and target; an error of 0
/// has a gradient of 0. Source: Gonzalez-Audicana et al. 2004.
///
/// Example:
///     RelativeAverageSpectralError rase;
///     rase.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = rase.compute().item<double>();
class RelativeAverageSpectralError final
    : public MetricOf<RelativeAverageSpectralError,
                      ImageScores<AverageSpectralError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RelativeAverageSpectralError";
  static constexpr MetricSummary kSummary{
      "Error in windows relative to their means (RASE), in percent.",
      "[0, inf]",
      "",
      "rase",
      R"(\frac{100}{\mu} \sqrt{\frac{1}{C} \sum_c MSE_c})",
      "Gonzalez-Audicana et al. 2004"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RelativeAverageSpectralError,
                               ImageScores<AverageSpectralError>, at::Tensor>;

}  // namespace tally
