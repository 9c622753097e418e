#pragma once

#include <cstdint>

namespace tally::internal {

/// Whether there is a NaN, found with the widest vectors of the processor.
bool any_nan(const float* values, std::int64_t count);
bool any_nan(const double* values, std::int64_t count);

}  // namespace tally::internal
