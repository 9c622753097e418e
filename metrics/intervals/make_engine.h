#pragma once

#include <memory>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// The engine of the method in the options, or one chosen by metric. Throws
/// c10::ValueError if it does not fit the metric.
std::unique_ptr<IntervalEngine> make_engine(std::unique_ptr<Metric> metric,
                                            const IntervalOptions& options);

}  // namespace tally::internal::intervals
