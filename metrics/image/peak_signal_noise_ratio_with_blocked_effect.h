#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of PeakSignalNoiseRatioWithBlockedEffect.
///
/// Example:
///     PeakSignalNoiseRatioWithBlockedEffect psnr_b(
///         PeakSignalNoiseRatioWithBlockedEffectOptions(255).block_size(16));
struct PeakSignalNoiseRatioWithBlockedEffectOptions
    : ImageOptions<PeakSignalNoiseRatioWithBlockedEffectOptions> {
  /// The difference of the largest and the smallest value that an image can
  /// have, above 0: 1 or 255, say.
  PeakSignalNoiseRatioWithBlockedEffectOptions(double data_range)
      : data_range_(data_range) {}
  explicit PeakSignalNoiseRatioWithBlockedEffectOptions(internal::Unset) {}

  /// The difference of the largest and the smallest value that an image can
  /// have, above 0.
  TORCH_ARG(double, data_range) = 0;
  /// The size of the blocks in pixels, at least 2. Default: 8, as in JPEG.
  TORCH_ARG(std::int64_t, block_size) = 8;

 public:
  void visit(OptionVisitor& v) {
    v("data_range", data_range_, internal::words::kDataRange);
    v("block_size", block_size_,
      "Size of the blocks of compression in pixels.");
    ImageOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of PeakSignalNoiseRatioWithBlockedEffect.
class BlockedSignal : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "BlockedSignal";
  static constexpr const auto& kInputs = internal::image::kPairInputs;
  using Options = PeakSignalNoiseRatioWithBlockedEffectOptions;
  explicit BlockedSignal(const Options& options) : options_(options) {}

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  bool takes_any_dtype() const override { return true; }
  std::optional<double> data_range() const override {
    return options_.data_range();
  }

 private:
  PeakSignalNoiseRatioWithBlockedEffectOptions options_;
};

/// The peak signal-to-noise ratio with blocked effect (PSNR-B), in decibels:
/// the visible edges of the blocks of compressed images count as errors.
///
///     10 log10(data_range^2 / (MSE + BEF))
///
/// of each image, averaged over images. BEF is t (d - e) if the mean squared
/// difference of neighboring pixels across the edges of blocks, d, is larger
/// than that of other neighbors, e, and otherwise 0; t is log2(block_size) /
/// log2(min(H, W)). TorchMetrics adds up BEF over images, so that its value
/// falls with their number.
/// update(preds, target): [N, 1, H, W] of the same shape, any real dtypes; both
/// sides larger than a block.
/// Result: 0-dim float64; infinity for equal images without such edges; NaN
/// without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other or different shapes, for images not larger
/// than a block, for NaN with NanPolicy::kError, and for values of the target,
/// or of integer preds, further apart than data_range (floating-point preds,
/// such as those of a network that learns, may leave it; unchecked without
/// validate_args); c10::TypeError for complex or sparse inputs. Differentiable
/// in preds and target. Source: Yim and Bovik 2011.
///
/// Example:
///     PeakSignalNoiseRatioWithBlockedEffect psnr_b(/*data_range=*/1.0);
///     psnr_b.update(at::rand({4, 1, 32, 32}), at::rand({4, 1, 32, 32}));
///     double value = psnr_b.compute().item<double>();
class PeakSignalNoiseRatioWithBlockedEffect final
    : public MetricOf<PeakSignalNoiseRatioWithBlockedEffect,
                      ImageScores<BlockedSignal>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PeakSignalNoiseRatioWithBlockedEffect";
  static constexpr MetricSummary kSummary{
      "PSNR with a penalty for visible block edges (PSNR-B), in dB.",
      "[-inf, inf]",
      "data_range=1",
      "psnr-b, psnrb, blocking effect",
      R"(10 \log_{10} \frac{range^2}{MSE + BEF})",
      "Yim and Bovik 2011"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<PeakSignalNoiseRatioWithBlockedEffect,
                               ImageScores<BlockedSignal>, at::Tensor>;

}  // namespace tally
