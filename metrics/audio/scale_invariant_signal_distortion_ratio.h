#pragma once

#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ScaleInvariantSignalDistortionRatio.
///
/// Example:
///     ScaleInvariantSignalDistortionRatio si_sdr(
///         ScaleInvariantSignalDistortionRatioOptions().zero_mean(true));
struct ScaleInvariantSignalDistortionRatioOptions
    : CenteredSignalOptions<ScaleInvariantSignalDistortionRatioOptions> {};

/// The score of ScaleInvariantSignalDistortionRatio.
struct ScaledDistortionRatio : internal::audio::EnergyRatio {
  static constexpr const char* kName = "ScaledDistortionRatio";
  static constexpr const auto& kInputs = internal::audio::kTimeInputs;
  using Options = ScaleInvariantSignalDistortionRatioOptions;
  explicit ScaledDistortionRatio(const Options& options)
      : EnergyRatio({/*scale_invariant=*/true, options.zero_mean()}) {}
};

/// The scale-invariant signal-to-distortion ratio (SI-SDR) of estimated
/// signals, in decibels: SignalNoiseRatio with the reference scaled to be
/// nearest to the estimate.
///
///     a = (<p, t> + e) / (|t|^2 + e)
///     10 log10((|a t|^2 + e) / (|a t - p|^2 + e))
///
/// for the reference t, the estimate p and the machine epsilon e of the dtype
/// of preds, as in TorchMetrics; the sums are float64. e makes the ratio depend
/// on the scale of quiet signals: pass float64 for those.
/// update(preds, target): signals [..., T] of floating-point dtypes; each is a
/// sample.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of silent references: those that are 0 throughout, or
/// with zero_mean constant. NaN without samples. A silent estimate has 0 dB; a
/// silent reference counts as 10 log10(e / |p|^2), unless the estimate is
/// silent, too: 0.
/// State: the sum of the scores, which is exact, so that the mean has the same
/// bits for every split; the numbers of samples and of silent references.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::TypeError for inputs that are not dense and floating point;
/// c10::ValueError for different shapes, for signals without values, and for
/// NaN with NanPolicy::kError.
/// Differentiable in preds and target.
/// Source: Le Roux, Wisdom, Erdogan and Hershey 2019.
///
/// Example:
///     ScaleInvariantSignalDistortionRatio si_sdr;
///     si_sdr.update(at::randn({4, 16000}), at::randn({4, 16000}));
///     double decibels = si_sdr.compute().value.item<double>();
class ScaleInvariantSignalDistortionRatio final
    : public MetricOf<ScaleInvariantSignalDistortionRatio,
                      SignalScores<ScaledDistortionRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ScaleInvariantSignalDistortionRatio";
  static constexpr MetricSummary kSummary{
      "Scale-invariant signal-to-distortion ratio (SI-SDR), in dB.",
      "any",
      "",
      "si-sdr, sisdr",
      R"(10 \log_{10} \frac{\|\alpha s\|^2}{\|\alpha s - \hat s\|^2})",
      "Le Roux et al. 2019"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<ScaleInvariantSignalDistortionRatio,
                               SignalScores<ScaledDistortionRatio>,
                               SignalScore>;

}  // namespace tally
