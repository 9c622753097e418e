#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally::internal {

/// The same results of several metrics in one: each tensor with a dimension
/// more, in front. Throws c10::ValueError that begins with `owner` if the
/// results have other names or sizes; `what` says of what they are several.
Results stacked(const std::vector<Results>& several, const char* owner,
                const char* what);

}  // namespace tally::internal
