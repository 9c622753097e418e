#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"

namespace tally::internal::intervals {
namespace {

/// The largest k for which fewer than k of n values are below the quantile with
/// at most the probability of a tail: the k-th smallest is a lower end.
std::int64_t lower_place(std::int64_t n, double probability, double tail) {
  std::int64_t low = 0, high = n + 1;  // it is in [low, high)
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const bool fits = binomial_cdf(middle - 1, n, probability) <= tail;
    (fits ? low : high) = middle;
  }
  return low;
}

/// Exact intervals of a quantile between two of the values themselves.
class OrderEngine final : public IntervalEngine {
 public:
  OrderEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
              OrderSampling order)
      : IntervalEngine(std::move(metric), options), order_(std::move(order)) {}

  IntervalMethod method() const override {
    return IntervalMethod::kOrderStatistic;
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, /*dims=*/2);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const FlatResult value = flat_result(*metric_, state);
    auto values = order_.values(state);
    std::vector<Bounds> bounds;
    Interval unfilled = this->unfilled(count);
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      std::vector<double>& own = values.at(i);
      unfilled.counted = unfilled.units = static_cast<double>(own.size());
      bounds.push_back(value.values[i] == value.values[i] ? bounds_of(own)
                                                          : Bounds());
    }
    return make_intervals(value, bounds, unfilled);
  }

 private:
  Bounds bounds_of(std::vector<double>& values) const {
    std::sort(values.begin(), values.end());
    const auto n = static_cast<std::int64_t>(values.size());
    const double tail = (1 - options_.level()) / 2;
    const std::int64_t below = lower_place(n, order_.probability, tail);
    // The same from above.
    const std::int64_t above = lower_place(n, 1 - order_.probability, tail);
    Bounds bounds;
    bounds.flags.add(IntervalFlag::kFewUnits,
                     static_cast<double>(n) < kFewRows);
    if (below < 1 || above < 1) return bounds;
    bounds.low = values[static_cast<std::size_t>(below - 1)];
    bounds.high = values[static_cast<std::size_t>(n - above)];
    if (bounds.low == bounds.high) {
      bounds.flags.add(IntervalFlag::kNoVariation);
      bounds.low = bounds.high = kNaN;
    }
    return bounds;
  }

  OrderSampling order_;
};

}  // namespace

std::unique_ptr<IntervalEngine> order_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options) {
  auto order = metric->sampling().order;
  if (!order) return nullptr;
  return std::make_unique<OrderEngine>(std::move(metric), options,
                                       *std::move(order));
}

}  // namespace tally::internal::intervals
