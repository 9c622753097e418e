#include "tally/metrics/intervals/resampling_engine.h"

#include <c10/util/Exception.h>

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
         text_of(method()) + "; " + metric_->state_key() + ")";
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
                                                  const RowCount& count) const {
  if (count.rows == 0) return std::nullopt;
  DrawnResult drawn;
  drawn.value = flat_result(*metric_, whole(state));
  drawn.replicates = replicates(state, count.rows);
  return drawn;
}

Intervals ResamplingEngine::intervals(const AnyState& state,
                                      const RowCount& count) const {
  const FlatResult value = flat_result(*metric_, whole(state));
  auto drawn = replicates(state, count.rows);
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
  Interval unfilled = this->unfilled(count, options_.replicates());
  unfilled.flags.add(
      IntervalFlag::kFewUnits,
      unfilled.units < (count.are_groups ? kFewGroups : kFewRows));
  return make_intervals(value, bounds, unfilled);
}

}  // namespace tally::internal::intervals
