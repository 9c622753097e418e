#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"

namespace tally {

SignalScore ScaleInvariantSignalDistortionRatio::evaluate(
    const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
