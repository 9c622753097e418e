#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric.h"

namespace tally::internal::intervals {

/// What each row adds to the counts of a metric over BinaryCounts: float64
/// [N, kElementCounts]. Undefined for other metrics, weights, rows of several
/// positions, and states that are not plain counts. REQUIRES: inputs that the
/// metric takes.
at::Tensor row_counts(const Metric& metric, Inputs inputs);

}  // namespace tally::internal::intervals
