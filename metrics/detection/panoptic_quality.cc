#include "tally/metrics/detection/panoptic_quality.h"

namespace tally {

Results PanopticQuality::evaluate(const State& state) const {
  internal::detection::PanopticRates rates;
  if (state.sums.defined()) {
    rates = {state.sums[0], state.counts[0], state.counts[1], state.counts[2]};
  }
  return internal::detection::panoptic_results(rates, options());
}

}  // namespace tally
