#pragma once

#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of SignalNoiseRatio.
///
/// Example:
///     SignalNoiseRatio snr(SignalNoiseRatioOptions().zero_mean(true));
struct SignalNoiseRatioOptions
    : CenteredSignalOptions<SignalNoiseRatioOptions> {};

/// The score of SignalNoiseRatio.
struct NoiseRatio : internal::audio::EnergyRatio {
  static constexpr const char* kName = "NoiseRatio";
  static constexpr const auto& kInputs = internal::audio::kTimeInputs;
  using Options = SignalNoiseRatioOptions;
  explicit NoiseRatio(const Options& options)
      : EnergyRatio({/*scale_invariant=*/false, options.zero_mean()}) {}
};

/// The signal-to-noise ratio (SNR) of estimated signals, in decibels.
///
///     10 log10((|t|^2 + e) / (|t - p|^2 + e))
///
/// for the reference t, the estimate p and the machine epsilon e of the dtype
/// of preds, as in TorchMetrics; the sums are float64. With `zero_mean` each
/// signal's mean is removed first.
/// update(preds, target): signals [..., T] of floating-point dtypes; each is a
/// sample.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of silent references: those that are 0 throughout, or
/// with zero_mean constant. NaN without samples. A silent estimate has 0 dB; a
/// silent reference counts as 10 log10(e / |p|^2), unless the estimate is
/// silent, too: 0. e also bounds the ratio of an estimate without errors: 91 dB
/// in float32 for a reference of energy 160; pass float64 for higher ratios.
/// State: the sum of the scores, which is exact, so that the mean has the same
/// bits for every split; the numbers of samples and of silent references.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::TypeError for inputs that are not dense and floating point;
/// c10::ValueError for different shapes, for signals without values, and for
/// NaN with NanPolicy::kError.
/// Differentiable in preds and target.
///
/// Example:
///     SignalNoiseRatio snr;
///     snr.update(at::randn({4, 16000}), at::randn({4, 16000}));
///     double decibels = snr.compute().value.item<double>();
class SignalNoiseRatio final
    : public MetricOf<SignalNoiseRatio, SignalScores<NoiseRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SignalNoiseRatio";
  static constexpr MetricSummary kSummary{
      "Signal-to-noise ratio (SNR), in dB.", "any", "",
      "snr, signal-to-noise ratio",
      R"(10 \log_{10} \frac{\|s\|^2}{\|s - \hat s\|^2})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<SignalNoiseRatio, SignalScores<NoiseRatio>,
                               SignalScore>;

}  // namespace tally
