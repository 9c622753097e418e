#pragma once

#include <cstdint>

#include "tally/metrics/regression/kernels/row_kernels.h"

/// Derivatives of the scores of row_kernels.h.
namespace tally::internal::regression {

/// Writes the derivatives of the score of each row of a and b, times the row's
/// factor, unless null. `factors` has one for each row, or one for all. False
/// where row_scores gives nothing, and for probabilities of 0; what is written
/// is then meaningless.
bool row_slopes(RowKind kind, const float* a, const float* b, std::int64_t rows,
                std::int64_t size, const double* factors, bool one_factor,
                float* of_a, float* of_b);
bool row_slopes(RowKind kind, const double* a, const double* b,
                std::int64_t rows, std::int64_t size, const double* factors,
                bool one_factor, double* of_a, double* of_b);

}  // namespace tally::internal::regression
