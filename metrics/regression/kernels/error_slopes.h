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

}  // namespace tally::internal::regression
