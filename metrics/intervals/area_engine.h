#pragma once

#include <memory>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// DeLong's or Newcombe's intervals of areas under ROC curves, one for each
/// curve; null for other metrics and options, and `metric` is then unchanged.
std::unique_ptr<IntervalEngine> area_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options);

}  // namespace tally::internal::intervals
