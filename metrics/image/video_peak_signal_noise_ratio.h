#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/peak_signal_noise_ratio.h"
#include "tally/metrics/image/states/frame_scores.h"

namespace tally {

/// Options of VideoPeakSignalNoiseRatio.
///
/// Example:
///     VideoPeakSignalNoiseRatio psnr(VideoPeakSignalNoiseRatioOptions(255));
struct VideoPeakSignalNoiseRatioOptions
    : ImageOptions<VideoPeakSignalNoiseRatioOptions> {
  /// The difference of the largest and the smallest value that a frame can
  /// have, above 0: 1 or 255, say.
  VideoPeakSignalNoiseRatioOptions(double data_range)
      : data_range_(data_range) {}
  explicit VideoPeakSignalNoiseRatioOptions(internal::Unset) {}

  /// The difference of the largest and the smallest value that a frame can
  /// have, above 0.
  TORCH_ARG(double, data_range) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("data_range", data_range_, internal::words::kDataRange);
    ImageOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of VideoPeakSignalNoiseRatio.
class FramePeakSignal : public internal::image::PeakSignal {
 public:
  static constexpr const char* kName = "FramePeakSignal";
  using Options = VideoPeakSignalNoiseRatioOptions;
  explicit FramePeakSignal(const Options& options)
      : PeakSignal(
            PeakSignalNoiseRatioOptions(options.data_range()).per_image(true)) {
  }
};

/// The peak signal-to-noise ratio of the frames of videos, in decibels: of each
/// frame by itself, averaged over the frames of a video, then over videos. See
/// PeakSignalNoiseRatio.
/// update(preds, target): [N, T, C, H, W] of the same shape, any real dtypes, T
/// at least 1; T may differ from batch to batch.
/// Result: 0-dim float64; infinity if a frame is equal to its target; NaN
/// without videos.
/// State: the sum in float64 and the number of videos, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the video.
/// Errors: c10::ValueError for other or different shapes, for NaN with
/// NanPolicy::kError, and for values of the target, or of integer preds,
/// further apart than data_range (floating-point preds, such as those of a
/// network that learns, may leave it; unchecked without validate_args);
/// c10::TypeError for complex or sparse inputs. Differentiable in preds and
/// target; equal frames have a gradient of 0.
///
/// Example:
///     VideoPeakSignalNoiseRatio psnr(/*data_range=*/1.0);
///     psnr.update(at::rand({2, 8, 3, 16, 16}), at::rand({2, 8, 3, 16, 16}));
///     double decibels = psnr.compute().item<double>();
class VideoPeakSignalNoiseRatio final
    : public MetricOf<VideoPeakSignalNoiseRatio, FrameScores<FramePeakSignal>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "VideoPeakSignalNoiseRatio";
  static constexpr MetricSummary kSummary{
      "Peak signal-to-noise ratio of the frames of videos, in dB.",
      "[-inf, inf]", "data_range=1", "video psnr",
      R"(10 \log_{10} \frac{range^2}{MSE})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<VideoPeakSignalNoiseRatio,
                               FrameScores<FramePeakSignal>, at::Tensor>;

}  // namespace tally
