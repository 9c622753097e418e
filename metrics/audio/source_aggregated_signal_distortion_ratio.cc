#include "tally/metrics/audio/source_aggregated_signal_distortion_ratio.h"

namespace tally {

SignalScore SourceAggregatedSignalDistortionRatio::evaluate(
    const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
