#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/audio/states/signal_measure.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/metrics/results.h"
#include "tally/state/fields.h"

namespace tally {

/// The result of audio metrics. In a collection the metric "snr" has the value
/// "snr", and with count_silent "snr.silent".
struct SignalScore {
  /// The mean over samples, 0-dim float64.
  at::Tensor value;
  /// How many references are silent, 0-dim int64. Undefined without
  /// count_silent.
  at::Tensor silent;

  /// The value, for code that wants a tensor or a number.
  operator at::Tensor() const { return value; }
  template <class T>
  T item() const {
    return value.item<T>();
  }

  void visit(ResultParts& parts) {
    parts("", value);
    if (silent.defined()) parts("silent", silent);
  }
};

/// Options of all audio metrics.
template <class Self>
struct SignalOptions {
  /// Whether the result says how many references are silent, besides the value.
  TALLY_INHERITED_ARG(Self, bool, count_silent) = false;

 public:
  void visit(OptionVisitor& v) {
    v("count_silent", count_silent_, OptionRole::kValue,
      "Whether to return the number of silent references.");
  }
};

/// The same where means may be removed.
template <class Self>
struct CenteredSignalOptions : SignalOptions<Self> {
  TALLY_INHERITED_ARG(Self, bool, zero_mean) = false;

 public:
  void visit(OptionVisitor& v) {
    v("zero_mean", zero_mean_, "Whether each signal's mean is removed first.");
    SignalOptions<Self>::visit(v);
  }
};

/// The state of audio metrics.
struct SignalScoresState {
  at::Tensor scores;  // their exact sum (ExactSums)
  Number gradient;    // 0, with the gradient of that sum
  std::int64_t total = 0;
  std::int64_t silent = 0;

  void fields(Fields& f) {
    f("scores", scores)("gradient", gradient)("total", total)("silent", silent);
  }
};

namespace internal::audio {

/// The scores of a batch. What arrange() and the measure's check() throw, and
/// c10::ValueError for NaN with NanPolicy::kError.
SignalScoresState observe_signals(const SignalMeasure& measure,
                                  const at::Tensor& preds,
                                  const at::Tensor& target, NanPolicy policy);

/// The mean, NaN without samples.
SignalScore mean_score(const SignalScoresState& state, bool count_silent);

}  // namespace internal::audio

/// Scores signals by `Measure`, a SignalMeasure with kName, kInputs, Options
/// and a constructor from them.
template <class Measure>
class SignalScores {
 public:
  static constexpr const char* kName = Measure::kName;
  static constexpr const auto& kInputs = Measure::kInputs;
  static constexpr const char* kUnit = "clip";
  using Options = typename Measure::Options;
  using State = SignalScoresState;

  SignalScores(const Options& options, const MetricOptions& metric_options)
      : measure_(options), nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    return internal::audio::observe_signals(measure_, preds, target,
                                            nan_policy_);
  }

 private:
  Measure measure_;
  NanPolicy nan_policy_;
};

}  // namespace tally
