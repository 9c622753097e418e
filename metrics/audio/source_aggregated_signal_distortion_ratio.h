#pragma once

#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of SourceAggregatedSignalDistortionRatio.
///
/// Example:
///     SourceAggregatedSignalDistortionRatio sa_sdr(
///         SourceAggregatedSignalDistortionRatioOptions().scale_invariant(
///             false));
struct SourceAggregatedSignalDistortionRatioOptions
    : CenteredSignalOptions<SourceAggregatedSignalDistortionRatioOptions> {
  /// Whether references are scaled, all speakers' by the same factor.
  TORCH_ARG(bool, scale_invariant) = true;

 public:
  void visit(OptionVisitor& v) {
    v("scale_invariant", scale_invariant_,
      "Whether references are scaled to the estimates.");
    CenteredSignalOptions::visit(v);
  }
};

/// The score of SourceAggregatedSignalDistortionRatio.
struct AggregatedDistortionRatio : internal::audio::EnergyRatio {
  static constexpr const char* kName = "AggregatedDistortionRatio";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kFloat, "float signals [..., C, T]"},
      {"target", InputKind::kFloat, "float signals [..., C, T]"}};
  using Options = SourceAggregatedSignalDistortionRatioOptions;
  explicit AggregatedDistortionRatio(const Options& options)
      : EnergyRatio({options.scale_invariant(), options.zero_mean()},
                    internal::audio::Layout::kChannels) {}
};

/// The source-aggregated signal-to-distortion ratio (SA-SDR) of the estimated
/// signals of several speakers, in decibels: one ratio of energies that are
/// summed over the speakers, so that one who is silent for a while does no
/// harm.
///
///     a = (sum_c <p_c, t_c> + e) / (sum_c |t_c|^2 + e)
///     10 log10((sum_c |a t_c|^2 + e) / (sum_c |a t_c - p_c|^2 + e))
///
/// for references t_c, estimates p_c and the machine epsilon e of the dtype of
/// preds, as in TorchMetrics; a is 1 without `scale_invariant`. With
/// `zero_mean` each signal's mean is removed first.
/// update(preds, target): signals [..., C, T] of C speakers, of floating-point
/// dtypes.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of samples in which all references are silent: 0
/// throughout, or with zero_mean constant. Silent signals, states, NaN and
/// errors are as in ScaleInvariantSignalDistortionRatio.
/// Differentiable in preds and target.
/// Source: von Neumann, Kinoshita, Boeddeker, Delcroix and Haeb-Umbach 2022.
///
/// Example:
///     SourceAggregatedSignalDistortionRatio sa_sdr;
///     sa_sdr.update(at::randn({4, 2, 8000}), at::randn({4, 2, 8000}));
///     double decibels = sa_sdr.compute().value.item<double>();
class SourceAggregatedSignalDistortionRatio final
    : public MetricOf<SourceAggregatedSignalDistortionRatio,
                      SignalScores<AggregatedDistortionRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SourceAggregatedSignalDistortionRatio";
  static constexpr MetricSummary kSummary{
      "SI-SDR of the energies of all speakers together (SA-SDR), in dB.",
      "any",
      "",
      "sa-sdr, sasdr",
      R"(10 \log_{10} \frac{\sum_k \|\alpha s_k\|^2}{\sum_k \|\alpha s_k - \hat s_k\|^2})",
      "von Neumann et al. 2022"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<SourceAggregatedSignalDistortionRatio,
                               SignalScores<AggregatedDistortionRatio>,
                               SignalScore>;

}  // namespace tally
