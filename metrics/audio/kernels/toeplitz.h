#pragma once

#include <cstdint>

namespace tally::internal::audio {

/// Solves R x = b by Levinson's recursion, R being symmetric and positive
/// definite with R_ij = r[|i - j|]; O(size^2). Where r is numerically singular
/// beyond some order, the equations up to that order are solved, and the other
/// elements of x are 0: all of them if r[0] is not above 0.
void solve_toeplitz(const double* r, const double* b, std::int64_t size,
                    double* x);

}  // namespace tally::internal::audio
