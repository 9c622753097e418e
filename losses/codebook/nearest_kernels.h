#pragma once

#include <cstdint>

namespace tally::losses::internal {

/// Values that subtract_and_top() looks at together.
inline constexpr std::int64_t kTopBlock = 64;

/// Subtracts `less` from `values` and gives the largest difference; the largest
/// of each kTopBlock of them to `tops`. NaN counts as nothing.
float subtract_and_top(float* values, const float* less, std::int64_t count,
                       float* tops);
double subtract_and_top(double* values, const double* less, std::int64_t count,
                        double* tops);

}  // namespace tally::losses::internal
