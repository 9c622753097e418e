#include "tally/metrics/intervals/resampling_engine.h"

#include <string>
#include <utility>

#include "tally/state/state_parts.h"

namespace tally::internal::intervals {

ResamplingEngine::ResamplingEngine(std::unique_ptr<Metric> metric,
                                   const IntervalOptions& options)
    : IntervalEngine(std::move(metric), options),
      weights_(options.seed(),
               options.method() == IntervalMethod::kDoubleOrNothing
                   ? WeightKind::kDoubleOrNothing
                   : WeightKind::kPoisson,
               options.replicates()) {}

IntervalMethod ResamplingEngine::method() const {
  return weights_.kind() == WeightKind::kPoisson
             ? IntervalMethod::kPoisson
             : IntervalMethod::kDoubleOrNothing;
}

StateKey ResamplingEngine::key() const {
  return "Replicates(" + std::to_string(options_.replicates()) +
         ", seed=" + std::to_string(options_.seed()) + ", " +
         OptionType<IntervalMethod>::print(method()) + "; " +
         metric_->state_key() + ")";
}

AnyState ResamplingEngine::identity_with(AnyState resampled) const {
  return AnyState::of(StateParts(
      {{"whole", metric_->make_state()}, {"resampled", std::move(resampled)}}));
}

const AnyState& ResamplingEngine::whole(const AnyState& state) {
  return state.get<StateParts>().parts()[0];
}

const AnyState& ResamplingEngine::resampled(const AnyState& state) {
  return state.get<StateParts>().parts()[1];
}

std::vector<double> ResamplingEngine::accelerations(const AnyState&,
                                                    std::size_t values) const {
  return std::vector<double>(values, 0);
}

std::optional<DrawnResult> ResamplingEngine::draw(const AnyState& state,
                                                  std::int64_t n) const {
  if (n == 0) return std::nullopt;
  return DrawnResult{flat_result(*metric_, whole(state)), replicates(state, n)};
}

Intervals ResamplingEngine::intervals(const AnyState& state,
                                      std::int64_t n) const {
  const FlatResult value = flat_result(*metric_, whole(state));
  auto drawn = replicates(state, n);
  std::vector<double> skews(drawn.size(), 0);
  if (options_.ends() == ReplicateInterval::kBca) {
    skews = accelerations(state, drawn.size());
  }
  std::vector<Bounds> bounds;
  for (std::size_t v = 0; v < drawn.size(); ++v) {
    bounds.push_back(replicate_bounds(value.values[v], drawn[v],
                                      options_.ends(), options_.level(),
                                      skews[v]));
  }
  return make_intervals(value, bounds, unfilled(n, options_.replicates()));
}

}  // namespace tally::internal::intervals
