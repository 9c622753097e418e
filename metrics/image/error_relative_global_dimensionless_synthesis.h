#pragma once

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ErrorRelativeGlobalDimensionlessSynthesis.
///
/// Example:
///     ErrorRelativeGlobalDimensionlessSynthesis ergas(
///         ErrorRelativeGlobalDimensionlessSynthesisOptions().ratio(2));
struct ErrorRelativeGlobalDimensionlessSynthesisOptions
    : ImageOptions<ErrorRelativeGlobalDimensionlessSynthesisOptions> {
  /// The pixel size of the low-resolution original, in pixels of the sharpened
  /// image; above 0.
  TORCH_ARG(double, ratio) = 4;

 public:
  void visit(OptionVisitor& v) {
    v("ratio", ratio_,
      "Ratio of the pixel sizes of the original and the sharpened image.");
    ImageOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of ErrorRelativeGlobalDimensionlessSynthesis.
class RelativeGlobalError : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "RelativeGlobalError";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = ErrorRelativeGlobalDimensionlessSynthesisOptions;
  explicit RelativeGlobalError(const Options& options)
      : ratio_(options.ratio()) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_any_dtype() const override { return true; }

 private:
  double ratio_;
};

/// The relative global error of a synthesis (ERGAS) of images, in percent.
///
///     100 / ratio sqrt(mean over channels of (RMSE_c / mean of target_c)^2)
///
/// of each image, averaged over images.
/// update(preds, target): [N, C, H, W] of the same shape, any real dtypes.
/// Result: 0-dim float64, 0 or more; infinite where a channel of target has a
/// mean of 0 and errors; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, and for NaN with
/// NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target; an error of 0 has a gradient of 0.
/// Source: Wald 2000.
///
/// Example:
///     ErrorRelativeGlobalDimensionlessSynthesis ergas;
///     ergas.update(at::rand({4, 3, 32, 32}), at::rand({4, 3, 32, 32}));
///     double value = ergas.compute().item<double>();
class ErrorRelativeGlobalDimensionlessSynthesis final
    : public MetricOf<ErrorRelativeGlobalDimensionlessSynthesis,
                      ImageScores<RelativeGlobalError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName =
      "ErrorRelativeGlobalDimensionlessSynthesis";
  static constexpr MetricSummary kSummary{
      "Relative global error of a synthesis (ERGAS), in percent.",
      "[0, inf]",
      "",
      "ergas, relative global error",
      R"(\frac{100}{r} \sqrt{\frac{1}{C} \sum_c \frac{MSE_c}{\mu_c^2}})",
      "Wald 2000"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<ErrorRelativeGlobalDimensionlessSynthesis,
                               ImageScores<RelativeGlobalError>, at::Tensor>;

}  // namespace tally
