#pragma once

#include <cstdint>

namespace tally::losses::internal {

/// to[j * to_stride + i] = from[i * from_stride + j], for all i < rows and j <
/// columns.
void transpose(const float* from, std::int64_t from_stride, std::int64_t rows,
               std::int64_t columns, float* to, std::int64_t to_stride);
void transpose(const double* from, std::int64_t from_stride, std::int64_t rows,
               std::int64_t columns, double* to, std::int64_t to_stride);

}  // namespace tally::losses::internal
