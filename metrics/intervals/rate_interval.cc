#include "tally/metrics/intervals/rate_interval.h"

#include <utility>

#include "tally/metrics/intervals/proportions.h"

namespace tally::internal::intervals {

RateInterval rate_interval(const Proportion& proportion,
                           double (*function)(double),
                           const IntervalBounds& ends) {
  const auto value = [&](double p) {
    return function == nullptr ? p : function(p);
  };
  const double p = proportion.successes / proportion.n;
  constexpr double kStep = 1e-6;
  RateInterval rate{p,
                    value(p),
                    (value(p + kStep) - value(p - kStep)) / (2 * kStep),
                    {value(ends.low), value(ends.high)}};
  if (value(0) > value(1)) std::swap(rate.ends.low, rate.ends.high);
  return rate;
}

RateInterval wilson_rate_interval(const Proportion& proportion,
                                  double (*function)(double), double level) {
  return rate_interval(
      proportion, function,
      wilson_interval(proportion.successes, proportion.n, level));
}

}  // namespace tally::internal::intervals
