#pragma once

#include <cstdint>
#include <vector>

/// Small square matrices [size, size], row by row.
namespace tally::internal::shape {

/// In no order, each of 0 or more, by Jacobi's rotations of columns. All are
/// NaN for a matrix with NaN or infinities.
std::vector<double> singular_values(std::vector<double> matrix,
                                    std::int64_t size);

/// False also for what is 0 or NaN.
bool has_negative_determinant(std::vector<double> matrix, std::int64_t size);

}  // namespace tally::internal::shape
