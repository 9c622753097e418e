#include "tally/metrics/detection/panoptic_quality.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>

#include "tally/metrics/detection/modified_panoptic_quality.h"

namespace tally {

Results PanopticQuality::evaluate(const State& state) const {
  internal::detection::PanopticRates rates;
  if (state.sums.defined()) {
    rates = {state.sums[0], state.counts[0], state.counts[1], state.counts[2]};
  }
  return internal::detection::panoptic_results(rates, options());
}

Results ModifiedPanopticQuality::evaluate(const State& state) const {
  internal::detection::PanopticRates rates;
  if (state.sums.defined()) {
    const auto things = static_cast<std::int64_t>(options().things().size());
    const auto stuffs = static_cast<std::int64_t>(options().stuffs().size());
    // The values of things, and of stuffs.
    const auto joined = [&](const at::Tensor& a, const at::Tensor& b) {
      return at::cat({a.narrow(0, 0, things), b.narrow(0, things, stuffs)});
    };
    const at::Tensor none = at::zeros_like(state.counts[0]);
    rates = {joined(state.sums[0], state.sums[1]),
             joined(state.counts[0], state.counts[3]),
             joined(state.counts[1], none), joined(state.counts[2], none)};
  }
  return internal::detection::panoptic_results(rates, options());
}

template class MetricOf<ModifiedPanopticQuality, PanopticCounts, Results>;
template class MetricOf<PanopticQuality, PanopticCounts, Results>;

}  // namespace tally
