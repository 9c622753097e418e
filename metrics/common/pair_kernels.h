#pragma once

#include <cstdint>

/// Sums over pairs of values, in float64, with the widest vectors of the
/// processor. Each is defined for float, double and std::int64_t.
namespace tally::internal::regression {

/// Sums of the differences from the first pair, which are exactly 0 for a
/// constant, of their products, and of squared errors.
struct ShiftedSums {
  double weight = 0;
  double preds = 0, target = 0;
  double preds_preds = 0, target_target = 0, preds_target = 0;
  double error = 0;
};

/// REQUIRES: count is at least 1. The weight is count.
ShiftedSums shifted_sums(const float* preds, const float* target,
                         std::int64_t count);
ShiftedSums shifted_sums(const double* preds, const double* target,
                         std::int64_t count);
ShiftedSums shifted_sums(const std::int64_t* preds, const std::int64_t* target,
                         std::int64_t count);

double squared_error_sum(const float* preds, const float* target,
                         std::int64_t count);
double squared_error_sum(const double* preds, const double* target,
                         std::int64_t count);
double squared_error_sum(const std::int64_t* preds, const std::int64_t* target,
                         std::int64_t count);

double absolute_error_sum(const float* preds, const float* target,
                          std::int64_t count);
double absolute_error_sum(const double* preds, const double* target,
                          std::int64_t count);
double absolute_error_sum(const std::int64_t* preds, const std::int64_t* target,
                          std::int64_t count);

}  // namespace tally::internal::regression
