#pragma once

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {

/// A monotone function of a proportion, with its ends.
struct RateInterval {
  double proportion = 0;
  double value = 0;
  double slope = 0;  ///< of the value by the proportion
  IntervalBounds ends;
};
/// `ends` are those of the proportion; a `function` of null: itself. REQUIRES:
/// n > 0.
RateInterval rate_interval(const Proportion& proportion,
                           double (*function)(double),
                           const IntervalBounds& ends);
/// With Wilson's ends.
RateInterval wilson_rate_interval(const Proportion& proportion,
                                  double (*function)(double), double level);

}  // namespace tally::internal::intervals
