#pragma once

#include <memory>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// Replicates of the areas under exact curves of a binary classifier: AUROC and
/// average precision. Takes the metric if it is such a one, and otherwise
/// returns null.
std::unique_ptr<IntervalEngine> curve_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options);

}  // namespace tally::internal::intervals
