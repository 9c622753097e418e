#pragma once

#include <memory>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// Wilson's or Clopper-Pearson's intervals, where each element of the metric's
/// result is a function of a proportion of rows; otherwise null, and `metric`
/// is unchanged.
std::unique_ptr<IntervalEngine> proportion_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options);

}  // namespace tally::internal::intervals
