#pragma once

#include <memory>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// The delta method or Poisson counts over the cells of a confusion matrix, for
/// metrics whose state is determined by one; otherwise null, and `metric` is
/// unchanged.
std::unique_ptr<IntervalEngine> cell_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options);

}  // namespace tally::internal::intervals
