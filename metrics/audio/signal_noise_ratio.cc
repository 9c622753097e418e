#include "tally/metrics/audio/signal_noise_ratio.h"

namespace tally {

SignalScore SignalNoiseRatio::evaluate(const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
