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
    return options_.method() == IntervalMethod::kAuto ? IntervalMethod::kDelong
                                                      : options_.method();
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    const bool is_delong = method() == IntervalMethod::kDelong;
    check_counted(*metric_,
                  pairs_.takes_weights && is_delong && inputs.size() > 2
                      ? inputs.slice(0, 2)
                      : inputs,
                  pairs_.target_dims);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state, std::int64_t n) const override {
    const FlatResult value = flat_result(*metric_, state);
    std::vector<AreaEstimate> estimates(value.values.size(),
                                        {kNaN, kNaN, 0, 0});
    pairs_.visit(state, [&](std::int64_t element, const ScoredSamples& own) {
      estimates.at(static_cast<std::size_t>(element)) = delong(own);
    });
    std::vector<Bounds> bounds;
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      bounds.push_back(value.values[i] == value.values[i]
                           ? bounds_of(estimates[i])
                           : no_bounds());
    }
    return make_intervals(value, bounds, unfilled(n));
  }

 private:
  Bounds bounds_of(const AreaEstimate& estimate) const {
    const IntervalBounds ends =
        method() == IntervalMethod::kDelong
            ? delong_interval(estimate, options_.level())
            : newcombe_interval(estimate.area, estimate.positives,
                                estimate.negatives, options_.level());
    return {ends.low, ends.high, estimate.standard_error, 0};
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
