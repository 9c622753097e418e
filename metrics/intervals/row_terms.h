#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric.h"

namespace tally::internal::intervals {

/// What each row adds to a mean, or to the mean of an error (ErrorSums):
/// float64 [N, 2] of the weighted term and the weight. Undefined for other
/// metrics, several outputs or positions a row, GPUs, and where an input has a
/// NaN. REQUIRES: inputs that the metric takes.
at::Tensor row_terms(const Metric& metric, Inputs inputs);

}  // namespace tally::internal::intervals
