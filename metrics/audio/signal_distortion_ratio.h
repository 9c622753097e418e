#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/audio/states/distortion.h"
#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of SignalDistortionRatio.
///
/// Example:
///     SignalDistortionRatio sdr(
///         SignalDistortionRatioOptions().filter_length(256).clamp_db(30.0));
struct SignalDistortionRatioOptions
    : CenteredSignalOptions<SignalDistortionRatioOptions> {
  /// Taps of the filter by which an estimate may differ from its reference
  /// without being distorted, from 1 to 2^20.
  TORCH_ARG(std::int64_t, filter_length) = 512;
  /// Added to the diagonal of the equations for the filter, relative to the
  /// energy of the reference; of 0 or more. It lowers high ratios.
  TORCH_ARG(std::optional<double>, load_diag) = std::nullopt;
  /// Scores are limited to -clamp_db to clamp_db, above 0, where their gradient
  /// is 0.
  TORCH_ARG(std::optional<double>, clamp_db) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("filter_length", filter_length_,
      "Length of the allowed distortion filter, in taps.");
    v("load_diag", load_diag_,
      "Added to the diagonal of the filter's equations.");
    v("clamp_db", clamp_db_,
      "Scores are clamped to [-clamp_db, clamp_db]; none: they are not.");
    CenteredSignalOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of SignalDistortionRatio.
struct FilteredDistortionRatio : internal::audio::Distortion {
  static constexpr const char* kName = "FilteredDistortionRatio";
  static constexpr const auto& kInputs = internal::audio::kTimeInputs;
  using Options = SignalDistortionRatioOptions;
  explicit FilteredDistortionRatio(const Options& options);
};

/// The signal-to-distortion ratio (SDR) of BSS eval, in decibels: an estimate
/// may differ from its reference by a filter.
///
///     c = max over filters h of |<p, h * t>|^2 / (|p|^2 |h * t|^2)
///     10 log10(c / (1 - c))
///
/// for the reference t, the estimate p and filters h of `filter_length` taps,
/// which do not look ahead: a delay is no distortion, an advance is. With
/// `zero_mean` each signal's mean is removed first.
/// update(preds, target): signals [..., T] of floating-point dtypes; each is a
/// sample. Everything is computed in float64.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, and
/// `silent`, the number of silent references: those that are 0 throughout, or
/// with zero_mean constant. NaN without samples. The coherence c is clipped to
/// [0, 1]: a silent reference or estimate has -infinity, and an estimate whose
/// distortion is lost in rounding may have +infinity; with `clamp_db` scores
/// are finite. For a reference of so few frequencies that the equations are
/// singular in float64, the longest filter that is not.
/// State: the sum of the scores, which is exact, so that the mean has the same
/// bits for every split; the numbers of samples and of silent references.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::TypeError for inputs that are not dense and floating point;
/// c10::ValueError for different shapes, for signals without values, for
/// options out of range, and for NaN with NanPolicy::kError.
/// Differentiable in preds and target, without solving the equations again; the
/// gradient is 0 where a score is clipped. Second-order gradients are exact,
/// and solve them densely.
/// Source: Vincent, Gribonval and Fevotte 2006; Scheibler 2022.
///
/// Example:
///     SignalDistortionRatio sdr;
///     sdr.update(at::randn({4, 16000}), at::randn({4, 16000}));
///     double decibels = sdr.compute().value.item<double>();
class SignalDistortionRatio final
    : public MetricOf<SignalDistortionRatio,
                      SignalScores<FilteredDistortionRatio>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SignalDistortionRatio";
  static constexpr MetricSummary kSummary{
      "Signal-to-distortion ratio of BSS eval (SDR), in dB.",
      "[-inf, inf]",
      "",
      "sdr, bss eval, mir_eval, signal-to-distortion ratio",
      R"(10 \log_{10} \frac{\|h * s\|^2}{\|h * s - \hat s\|^2})",
      "Vincent, Gribonval and Fevotte 2006; Scheibler 2022"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<
    SignalDistortionRatio, SignalScores<FilteredDistortionRatio>, SignalScore>;

}  // namespace tally
