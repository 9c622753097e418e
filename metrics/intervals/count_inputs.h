#pragma once

#include <cstdint>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric.h"

namespace tally::internal::intervals {

/// Throws c10::ValueError unless the target has at most `dims` dimensions, so
/// that a row is one sample, and there is no weight. REQUIRES: inputs are
/// preds, target, and optionally weight.
void check_counted(const Metric& metric, Inputs inputs, std::int64_t dims);

}  // namespace tally::internal::intervals
