#pragma once

#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ComplexScaleInvariantSignalNoiseRatio.
///
/// Example:
///     ComplexScaleInvariantSignalNoiseRatio c_si_snr(
///         ComplexScaleInvariantSignalNoiseRatioOptions().zero_mean(true));
struct ComplexScaleInvariantSignalNoiseRatioOptions
    : CenteredSignalOptions<ComplexScaleInvariantSignalNoiseRatioOptions> {};

/// The score of ComplexScaleInvariantSignalNoiseRatio.
struct ComplexNoiseRatio : internal::audio::EnergyRatio {
  static constexpr const char* kName = "ComplexNoiseRatio";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kAny, "complex [..., F, T] or float [..., F, T, 2]"},
      {"target", InputKind::kAny,
       "complex [..., F, T] or float [..., F, T, 2]"}};
  using Options = ComplexScaleInvariantSignalNoiseRatioOptions;
  explicit ComplexNoiseRatio(const Options& options)
      : EnergyRatio({/*scale_invariant=*/true, options.zero_mean()},
                    internal::audio::Layout::kComplex) {}
};

/// The scale-invariant signal-to-noise ratio of estimated spectrograms
/// (C-SI-SNR), in decibels: ScaleInvariantSignalDistortionRatio of their real
/// and imaginary parts in one row. The scale is real: another phase is an
/// error.
///
///     a = (Re <p, t> + e) / (|t|^2 + e)
///     10 log10((|a t|^2 + e) / (|a t - p|^2 + e))
///
/// update(preds, target): complex [..., F, T], or floating point [..., F, T, 2]
/// with real and imaginary parts, F frequencies at T times.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of silent references: those that are 0 throughout, or
/// with `zero_mean` constant. With zero_mean the mean of all real and imaginary
/// parts is removed, as in TorchMetrics. Silent signals, states, NaN and errors
/// are as in ScaleInvariantSignalDistortionRatio.
/// Differentiable in preds and target.
///
/// Example:
///     ComplexScaleInvariantSignalNoiseRatio c_si_snr;
///     c_si_snr.update(at::randn({4, 257, 100, 2}),
///                     at::randn({4, 257, 100, 2}));
///     double decibels = c_si_snr.compute().value.item<double>();
class ComplexScaleInvariantSignalNoiseRatio final
    : public MetricOf<ComplexScaleInvariantSignalNoiseRatio,
                      SignalScores<ComplexNoiseRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ComplexScaleInvariantSignalNoiseRatio";
  static constexpr MetricSummary kSummary{
      "SI-SNR of complex spectrograms, in dB.", "any", "",
      "c-si-snr, complex si-snr",
      R"(10 \log_{10} \frac{\|\alpha s\|^2}{\|\alpha s - \hat s\|^2})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<ComplexScaleInvariantSignalNoiseRatio,
                               SignalScores<ComplexNoiseRatio>, SignalScore>;

}  // namespace tally
