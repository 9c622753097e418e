#pragma once

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of RootMeanSquaredErrorUsingSlidingWindow.
///
/// Example:
///     RootMeanSquaredErrorUsingSlidingWindow rmse(
///         RootMeanSquaredErrorUsingSlidingWindowOptions().window_size(5));
struct RootMeanSquaredErrorUsingSlidingWindowOptions
    : WindowOptions<RootMeanSquaredErrorUsingSlidingWindowOptions> {};

/// The score of RootMeanSquaredErrorUsingSlidingWindow.
class SlidingError : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SlidingError";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = RootMeanSquaredErrorUsingSlidingWindowOptions;
  explicit SlidingError(const Options& options)
      : window_size_(options.window_size()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_several() const override { return true; }

 private:
  std::int64_t window_size_;
};

/// The root mean squared error in windows around pixels, averaged.
///
///     mean over pixels and channels of sqrt(mean over the window of (p - t)^2)
///
/// of each image, averaged over images. Images are continued by their mirror
/// images; pixels nearer to the border than window_size / 2, rounded to even,
/// are excluded, as in sewar and TorchMetrics.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes.
/// Result: 0-dim float64, 0 or more; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images smaller
/// than a window, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Differentiable in preds and target; an error of 0
/// has a gradient of 0.
///
/// Example:
///     RootMeanSquaredErrorUsingSlidingWindow rmse;
///     rmse.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = rmse.compute().item<double>();
class RootMeanSquaredErrorUsingSlidingWindow final
    : public MetricOf<RootMeanSquaredErrorUsingSlidingWindow,
                      ImageScores<SlidingError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RootMeanSquaredErrorUsingSlidingWindow";
  static constexpr MetricSummary kSummary{
      "Root mean squared error in windows.", "[0, inf]", "",
      "rmse-sw, rmse in windows", R"(\frac{1}{W} \sum_w \sqrt{MSE_w})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RootMeanSquaredErrorUsingSlidingWindow,
                               ImageScores<SlidingError>, at::Tensor>;

}  // namespace tally
