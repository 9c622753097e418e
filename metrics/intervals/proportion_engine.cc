#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/rate_interval.h"

namespace tally::internal::intervals {
namespace {

class ProportionEngine final : public IntervalEngine {
 public:
  ProportionEngine(std::unique_ptr<Metric> metric,
                   const IntervalOptions& options, RateSampling rate)
      : IntervalEngine(std::move(metric), options), rate_(std::move(rate)) {}

  IntervalMethod method() const override {
    return options_.method() == IntervalMethod::kAuto ? IntervalMethod::kWilson
                                                      : options_.method();
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, rate_.target_dims);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const FlatResult value = flat_result(*metric_, state);
    const std::vector<Proportion> proportions = rate_.proportions(state);
    TORCH_CHECK(proportions.size() == value.values.size(), metric_->name(),
                ": expected a proportion for each of ", value.values.size(),
                " values, got ", proportions.size());
    std::vector<Bounds> bounds;
    double most = 0;
    for (std::size_t i = 0; i < proportions.size(); ++i) {
      bounds.push_back(value.values[i] == value.values[i]
                           ? bounds_of(proportions[i])
                           : Bounds());
      bounds.back().flags.add(IntervalFlag::kSmallClass,
                              proportions[i].n < kSmallestClass);
      most = std::max(most, proportions[i].n);
    }
    Interval unfilled = this->unfilled(count);
    unfilled.counted = most;
    return make_intervals(value, bounds, unfilled);
  }

 private:
  Bounds bounds_of(const Proportion& proportion) const {
    if (proportion.n == 0) return {};
    const auto [successes, n] = proportion;
    const IntervalBounds ends =
        method() == IntervalMethod::kWilson
            ? wilson_interval(successes, n, options_.level())
            : clopper_pearson_interval(successes, n, options_.level());
    const RateInterval rate = rate_interval(proportion, rate_.value, ends);
    const double p = rate.proportion;
    Bounds bounds;
    bounds.low = rate.ends.low;
    bounds.high = rate.ends.high;
    bounds.standard_error = std::abs(rate.slope) * std::sqrt(p * (1 - p) / n);
    bounds.degrees_of_freedom = kInfinity;
    return bounds;
  }

  RateSampling rate_;
};

}  // namespace

std::unique_ptr<IntervalEngine> proportion_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  auto rate = metric->sampling().rate;
  if (!rate) return nullptr;
  return std::make_unique<ProportionEngine>(std::move(metric), options,
                                            *std::move(rate));
}

}  // namespace tally::internal::intervals
