#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of PeakSignalNoiseRatio.
///
/// Example:
///     PeakSignalNoiseRatio psnr(
///         PeakSignalNoiseRatioOptions(255).per_image(true));
struct PeakSignalNoiseRatioOptions : ImageOptions<PeakSignalNoiseRatioOptions> {
  /// The difference of the largest and the smallest value that an image can
  /// have, above 0: 1 or 255, say.
  PeakSignalNoiseRatioOptions(double data_range) : data_range_(data_range) {}
  explicit PeakSignalNoiseRatioOptions(internal::Unset) {}

  /// The difference of the largest and the smallest value that an image can
  /// have, above 0.
  TORCH_ARG(double, data_range) = 0;
  /// The base of the logarithm, above 1.
  TORCH_ARG(double, base) = 10;
  /// If true, each image has its ratio; if false, there is one for the errors
  /// of all images together.
  TORCH_ARG(bool, per_image) = false;

 public:
  void visit(OptionVisitor& v) {
    v("data_range", data_range_, internal::words::kDataRange);
    v("base", base_, "Base of the logarithm.");
    v("per_image", per_image_,
      "One value per image, or one of all errors together.");
    ImageOptions::visit(v);
  }
  void validate(const char* metric) const;
};

namespace internal::image {

/// The ratio for mean squared errors; for 0 infinity, with a gradient of 0.
at::Tensor decibels(const at::Tensor& error, double data_range, double base);

/// The squared errors of each image, added up, or its ratio.
class PeakSignal : public ImageMeasure {
 public:
  using Options = PeakSignalNoiseRatioOptions;
  explicit PeakSignal(Options options) : options_(std::move(options)) {}
  void check(Tensors images) const override;
  at::Tensor scores(Tensors images) const override;
  std::optional<double> data_range() const override {
    return options_.data_range();
  }
  bool takes_any_dtype() const override { return true; }

 private:
  Options options_;
};

}  // namespace internal::image

/// The observer of PeakSignalNoiseRatio.
class PeakSignalErrors {
 public:
  static constexpr const char* kName = "PeakSignalErrors";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real images [N, ...]"},
      {"target", InputKind::kReal, "real images [N, ...]"}};
  static constexpr const char* kUnit = "image";
  using Options = PeakSignalNoiseRatioOptions;
  using State = ImageScoresState;

  PeakSignalErrors(const Options& options, const MetricOptions& metric_options)
      : measure_(options),
        per_image_(options.per_image()),
        rules_(metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  internal::image::PeakSignal measure_;
  bool per_image_;
  internal::image::ImageRules rules_;
};

/// The peak signal-to-noise ratio (PSNR) of images, in decibels.
///
///     10 log_base(data_range^2 / MSE)
///
/// of the mean squared error over all images together, or with `per_image` of
/// each image, averaged (`reduction`).
/// update(preds, target): [N, ...] of the same shape, any real dtypes; errors
/// are added up in float64.
/// Result: 0-dim float64; infinity for equal images; NaN without images.
/// State: a sum in float64 and a count, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for different shapes, for images without values, for
/// NaN with NanPolicy::kError, and for values of the target, or of integer
/// preds, further apart than data_range (floating-point preds, such as those of
/// a network that learns, may leave it; unchecked without validate_args);
/// c10::TypeError for complex or sparse inputs. Differentiable in preds and
/// target; equal images have a gradient of 0.
///
/// Example:
///     PeakSignalNoiseRatio psnr(/*data_range=*/1.0);
///     psnr.update(preds, target);
///     double decibels = psnr.compute().item<double>();
class PeakSignalNoiseRatio final
    : public MetricOf<PeakSignalNoiseRatio, PeakSignalErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PeakSignalNoiseRatio";
  static constexpr MetricSummary kSummary{
      "Peak signal-to-noise ratio (PSNR), in dB.", "[-inf, inf]",
      "data_range=1", "psnr, peak signal-to-noise ratio",
      R"(10 \log_{10} \frac{range^2}{MSE})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<PeakSignalNoiseRatio, PeakSignalErrors,
                               at::Tensor>;

}  // namespace tally
