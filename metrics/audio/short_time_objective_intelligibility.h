#pragma once

#include <cstdint>

#include "tally/metrics/audio/states/intelligibility.h"
#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ShortTimeObjectiveIntelligibility.
///
/// Example:
///     ShortTimeObjectiveIntelligibility stoi(
///         ShortTimeObjectiveIntelligibilityOptions(16000).extended(true));
struct ShortTimeObjectiveIntelligibilityOptions
    : SignalOptions<ShortTimeObjectiveIntelligibilityOptions> {
  /// The sampling rate of the signals in Hz, from 1 to 384000.
  template <class Count, RequireCount<Count> = 0>
  ShortTimeObjectiveIntelligibilityOptions(Count fs)
      : fs_(static_cast<std::int64_t>(fs)) {}
  explicit ShortTimeObjectiveIntelligibilityOptions(internal::Unset) {}

  /// The sampling rate of the signals in Hz, from 1 to 384000.
  TORCH_ARG(std::int64_t, fs) = 0;
  /// Whether frames are compared over their frequencies (ESTOI), which also
  /// fits modulated noise.
  TORCH_ARG(bool, extended) = false;

 public:
  void visit(OptionVisitor& v) {
    v("fs", fs_, "Sampling rate of the signals in Hz.");
    v("extended", extended_,
      "Whether frames are compared over frequencies (ESTOI).");
    SignalOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of ShortTimeObjectiveIntelligibility.
struct Intelligibility : internal::audio::ShortTimeIntelligibility {
  static constexpr const char* kName = "Intelligibility";
  static constexpr const auto& kInputs = internal::audio::kTimeInputs;
  using Options = ShortTimeObjectiveIntelligibilityOptions;
  explicit Intelligibility(const Options& options)
      : ShortTimeIntelligibility(options.fs(), options.extended()) {}
};

/// Short-time objective intelligibility (STOI) of estimated speech, which rises
/// with the fraction of words that listeners understand; as pystoi computes it.
///
/// Signals are resampled to 10 kHz; frames of the reference that are 40 dB
/// below its loudest are removed from both. Magnitudes in 15 third-octave bands
/// from 150 Hz on are correlated over 30 frames (384 ms):
///
///     mean over segments and bands of corr(min(a y, (1 + 10^(15/20)) x), x)
///
/// for the reference's magnitudes x and the estimate's y, a bringing y to the
/// norm of x. With `extended` each band and then each frame of a segment is
/// normalized, and frames are correlated.
/// update(preds, target): signals [..., T] of floating-point dtypes; each is a
/// sample. Everything is computed in float64.
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64 in [-1,
/// 1], and `silent`, the number of references that are 0 throughout. NaN
/// without samples. A silent reference or estimate has 0, also with `extended`,
/// where pystoi adds random numbers. A signal of fewer than 30 frames, also
/// after silent ones were removed, has 1e-5, as in pystoi, but without its
/// warning. At 10 kHz that takes 4097 values.
/// State: the sum of the scores, which is exact, so that the mean has the same
/// bits for every split; the numbers of samples and of silent references.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::TypeError for inputs that are not dense and floating point;
/// c10::ValueError for different shapes, for signals without values, for fs out
/// of range, and for NaN with NanPolicy::kError.
/// Differentiable in preds and target; which frames count is taken as given.
/// Source: Taal, Hendriks, Heusdens and Jensen 2011; extended: Jensen and Taal
/// 2016.
///
/// Example:
///     ShortTimeObjectiveIntelligibility stoi(10000);
///     stoi.update(at::randn({2, 8000}), at::randn({2, 8000}));
///     double value = stoi.compute().value.item<double>();
class ShortTimeObjectiveIntelligibility final
    : public MetricOf<ShortTimeObjectiveIntelligibility,
                      SignalScores<Intelligibility>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ShortTimeObjectiveIntelligibility";
  static constexpr MetricSummary kSummary{
      "Predicted intelligibility of speech (STOI, ESTOI).",
      "[-1, 1]",
      "fs=16000",
      "stoi, estoi, intelligibility",
      R"(\frac{1}{J M} \sum_{j, m} corr(x_{jm}, \bar y_{jm}))",
      "Taal et al. 2011; Jensen and Taal 2016"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SignalScore evaluate(const State& state) const;
};

extern template class MetricOf<ShortTimeObjectiveIntelligibility,
                               SignalScores<Intelligibility>, SignalScore>;

}  // namespace tally
