#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/audio/complex_scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/short_time_objective_intelligibility.h"
#include "tally/metrics/audio/signal_distortion_ratio.h"
#include "tally/metrics/audio/signal_noise_ratio.h"
#include "tally/metrics/audio/source_aggregated_signal_distortion_ratio.h"

namespace tally {
namespace {

using internal::audio::mean_score;

constexpr std::int64_t kLongestFilter = std::int64_t{1} << 20;
constexpr std::int64_t kHighestRate = 384000;

}  // namespace

SignalScore SignalNoiseRatio::evaluate(const State& state) const {
  return mean_score(state, options().count_silent());
}

SignalScore ScaleInvariantSignalNoiseRatio::evaluate(const State& state) const {
  return mean_score(state, options().count_silent());
}

SignalScore ScaleInvariantSignalDistortionRatio::evaluate(
    const State& state) const {
  return mean_score(state, options().count_silent());
}

SignalScore ComplexScaleInvariantSignalNoiseRatio::evaluate(
    const State& state) const {
  return mean_score(state, options().count_silent());
}

SignalScore SourceAggregatedSignalDistortionRatio::evaluate(
    const State& state) const {
  return mean_score(state, options().count_silent());
}

void SignalDistortionRatioOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(filter_length_ >= 1 && filter_length_ <= kLongestFilter,
                    metric, ": expected filter_length from 1 to ",
                    kLongestFilter, ", got ", filter_length_);
  TORCH_CHECK_VALUE(
      !load_diag_ || (*load_diag_ >= 0 && std::isfinite(*load_diag_)), metric,
      ": expected a finite load_diag of at least 0, got ", *load_diag_);
  TORCH_CHECK_VALUE(!clamp_db_ || (*clamp_db_ > 0 && std::isfinite(*clamp_db_)),
                    metric, ": expected a finite clamp_db above 0, got ",
                    *clamp_db_);
}

FilteredDistortionRatio::FilteredDistortionRatio(const Options& options)
    : Distortion({options.filter_length(),
                  {options.zero_mean(), options.load_diag().value_or(0)},
                  options.clamp_db()}) {}

SignalScore SignalDistortionRatio::evaluate(const State& state) const {
  return mean_score(state, options().count_silent());
}

void ShortTimeObjectiveIntelligibilityOptions::validate(
    const char* metric) const {
  TORCH_CHECK_VALUE(fs_ >= 1 && fs_ <= kHighestRate, metric,
                    ": expected a sampling rate fs from 1 to ", kHighestRate,
                    ", got ", fs_);
}

SignalScore ShortTimeObjectiveIntelligibility::evaluate(
    const State& state) const {
  return mean_score(state, options().count_silent());
}

template class MetricOf<ComplexScaleInvariantSignalNoiseRatio,
                        SignalScores<ComplexNoiseRatio>, SignalScore>;
template class MetricOf<ScaleInvariantSignalDistortionRatio,
                        SignalScores<ScaledDistortionRatio>, SignalScore>;
template class MetricOf<ScaleInvariantSignalNoiseRatio,
                        SignalScores<ScaledNoiseRatio>, SignalScore>;
template class MetricOf<ShortTimeObjectiveIntelligibility,
                        SignalScores<Intelligibility>, SignalScore>;
template class MetricOf<SignalDistortionRatio,
                        SignalScores<FilteredDistortionRatio>, SignalScore>;
template class MetricOf<SignalNoiseRatio, SignalScores<NoiseRatio>,
                        SignalScore>;
template class MetricOf<SourceAggregatedSignalDistortionRatio,
                        SignalScores<AggregatedDistortionRatio>, SignalScore>;

}  // namespace tally
