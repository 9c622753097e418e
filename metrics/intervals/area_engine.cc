#include <algorithm>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/proportions.h"

namespace tally::internal::intervals {
namespace {

class AreaEngine final : public IntervalEngine {
 public:
  AreaEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
             PairSampling pairs)
      : IntervalEngine(std::move(metric), options), pairs_(std::move(pairs)) {}

  IntervalMethod method() const override {
    return options_.method() == IntervalMethod::kAuto
               ? IntervalMethod::kDelongNewcombe
               : options_.method();
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    const bool takes_weights =
        pairs_.takes_weights && method() != IntervalMethod::kNewcombe;
    check_counted(
        *metric_,
        takes_weights && inputs.size() > 2 ? inputs.slice(0, 2) : inputs,
        pairs_.target_dims);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const FlatResult value = flat_result(*metric_, state);
    std::vector<AreaEstimate> estimates(value.values.size(),
                                        {kNaN, kNaN, 0, 0});
    pairs_.visit(state, [&](std::int64_t element, const ScoredSamples& own) {
      estimates.at(static_cast<std::size_t>(element)) = delong(own);
    });
    std::vector<Bounds> bounds;
    double most = 0;
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      const AreaEstimate& own = estimates[i];
      bounds.push_back(value.values[i] == value.values[i] ? bounds_of(own)
                                                          : Bounds());
      bounds.back().flags.add(
          IntervalFlag::kSmallClass,
          std::min(own.positives, own.negatives) < kSmallestClass);
      most = std::max(most, own.positives + own.negatives);
    }
    Interval unfilled = this->unfilled(count);
    unfilled.counted = most;
    return make_intervals(value, bounds, unfilled);
  }

 private:
  Bounds bounds_of(const AreaEstimate& estimate) const {
    const double level = options_.level();
    const IntervalBounds ends =
        method() == IntervalMethod::kDelong ? delong_interval(estimate, level)
        : method() == IntervalMethod::kNewcombe
            ? newcombe_interval(estimate.area, estimate.positives,
                                estimate.negatives, level)
            : delong_newcombe_interval(estimate, level);
    Bounds bounds;
    bounds.low = ends.low;
    bounds.high = ends.high;
    bounds.standard_error = estimate.standard_error;
    bounds.degrees_of_freedom = estimate.degrees_of_freedom();
    bounds.flags.add(
        IntervalFlag::kUnevenUnits,
        estimate.degrees_of_freedom() + 1 <
            kUneven * std::min(estimate.positives, estimate.negatives));
    return bounds;
  }

  PairSampling pairs_;
};

}  // namespace

std::unique_ptr<IntervalEngine> area_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options) {
  auto pairs = metric->sampling().pairs;
  if (!pairs) return nullptr;
  return std::make_unique<AreaEngine>(std::move(metric), options,
                                      *std::move(pairs));
}

}  // namespace tally::internal::intervals
