#include "tally/metrics/audio/complex_scale_invariant_signal_noise_ratio.h"

namespace tally {

SignalScore ComplexScaleInvariantSignalNoiseRatio::evaluate(
    const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
