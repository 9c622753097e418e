#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/regression/kernels/error_kernels.h"

/// Derivatives of the sums of error_kernels.h.
namespace tally::internal::regression {

/// Factors of the derivatives of the sum of errors, and of that of weights.
struct SlopeFactors {
  double sum = 0, weight = 0;
};

/// The error and its parameter; without a kind, the deviance of Tweedie's
/// distribution with that power, neither 0 nor 1 nor 2.
struct ErrorKernel {
  std::optional<ErrorKind> kind;
  double parameter = 0;
};

/// Writes the derivatives of both by each prediction and each target, unless
/// null. False for the same values, and for targets of 0 with kPoisson and
/// Tweedie's deviance; what is written is then meaningless. Not for kPinball.
bool error_slopes(const ErrorKernel& kernel, const float* preds,
                  const float* target, std::int64_t count,
                  const SlopeFactors& factors, float* of_preds,
                  float* of_target);
bool error_slopes(const ErrorKernel& kernel, const double* preds,
                  const double* target, std::int64_t count,
                  const SlopeFactors& factors, double* of_preds,
                  double* of_target);

/// The sum of Tweedie's deviances, by the same powers; 0 where both are equal.
/// Nothing for targets below 0, of 0 with a power of 2 or more, and for the
/// values that error_sums refuses.
std::optional<double> tweedie_sum(double power, const float* preds,
                                  const float* target, std::int64_t count);
std::optional<double> tweedie_sum(double power, const double* preds,
                                  const double* target, std::int64_t count);

}  // namespace tally::internal::regression
