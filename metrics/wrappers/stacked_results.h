#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally::internal {

/// Stacks the results of several metrics: each tensor gets an additional first
/// dimension. Throws c10::ValueError that starts with `owner` if names or sizes
/// of the results differ; `what` names the dimension.
Results stacked(const std::vector<Results>& several, const char* owner,
                Dimension what);

}  // namespace tally::internal
