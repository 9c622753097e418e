#pragma once

#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ScaleInvariantSignalNoiseRatio.
///
/// Example:
///     ScaleInvariantSignalNoiseRatio si_snr(
///         ScaleInvariantSignalNoiseRatioOptions().count_silent(false));
struct ScaleInvariantSignalNoiseRatioOptions
    : SignalOptions<ScaleInvariantSignalNoiseRatioOptions> {};

/// The score of ScaleInvariantSignalNoiseRatio.
struct ScaledNoiseRatio : internal::audio::EnergyRatio {
  static constexpr const char* kName = "ScaledNoiseRatio";
  static constexpr const auto& kInputs = internal::audio::kTimeInputs;
  using Options = ScaleInvariantSignalNoiseRatioOptions;
  explicit ScaledNoiseRatio(const Options&)
      : EnergyRatio({/*scale_invariant=*/true, /*zero_mean=*/true}) {}
};

/// The scale-invariant signal-to-noise ratio (SI-SNR) of estimated signals, in
/// decibels: ScaleInvariantSignalDistortionRatio of signals less their means.
///
///     p' = p - mean(p), t' = t - mean(t)
///     a = (<p', t'> + e) / (|t'|^2 + e)
///     10 log10((|a t'|^2 + e) / (|a t' - p'|^2 + e))
///
/// update(preds, target): signals [..., T] of floating-point dtypes; each is a
/// sample.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of silent references, which are constant. Silent
/// signals, states, NaN and errors are as in
/// ScaleInvariantSignalDistortionRatio.
/// Differentiable in preds and target.
/// Source: Luo and Mesgarani 2018.
///
/// Example:
///     ScaleInvariantSignalNoiseRatio si_snr;
///     si_snr.update(at::randn({4, 16000}), at::randn({4, 16000}));
///     double decibels = si_snr.compute().value.item<double>();
class ScaleInvariantSignalNoiseRatio final
    : public MetricOf<ScaleInvariantSignalNoiseRatio,
                      SignalScores<ScaledNoiseRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ScaleInvariantSignalNoiseRatio";
  static constexpr MetricSummary kSummary{
      "Scale-invariant signal-to-noise ratio (SI-SNR), zero-mean, in dB.",
      "any",
      "",
      "si-snr, sisnr",
      R"(10 \log_{10} \frac{\|\alpha s\|^2}{\|\alpha s - \hat s\|^2})",
      "Luo and Mesgarani 2018"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<ScaleInvariantSignalNoiseRatio,
                               SignalScores<ScaledNoiseRatio>, SignalScore>;

}  // namespace tally
