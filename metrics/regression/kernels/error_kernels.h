#pragma once

#include <cstdint>
#include <optional>

/// Sums of errors over pairs of values, in float64, with the widest vectors of
/// the processor.
namespace tally::internal::regression {

struct PlainSums {
  double sum = 0;
  double weight = 0;
  bool valid = true;  // whether all errors are defined

  PlainSums& operator+=(const PlainSums& other) {
    sum += other.sum;
    weight += other.weight;
    valid &= other.valid;
    return *this;
  }
};

/// Errors of predictions p and targets t, with the parameter a:
enum class ErrorKind {
  kSquaredLog,   // log((1 + p) / (1 + t))^2
  kLogCosh,      // log(cosh(p - t))
  kPercentage,   // |p - t| / max(|t|, a)
  kSymmetric,    // 2 |p - t| / max(|p| + |t|, a)
  kOverTargets,  // |p - t|, with the weights |t|
  kPower,        // |p - t|^a, a whole number of at least 1
  kPinball,      // max(a (t - p), (a - 1) (t - p))
  kPoisson,      // 2 (t log(t / p) + p - t)
  kGamma,        // 2 (log(p / t) + t / p - 1)
};

/// Errors with logarithms are accurate to a few ulp. Nothing if there are
/// values for which these formulas do not hold: infinity or NaN (for
/// logarithms), outside of the domain, or beyond 2^500.
std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const float* preds, const float* target,
                                    std::int64_t count);
std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const double* preds, const double* target,
                                    std::int64_t count);
std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const std::int64_t* preds,
                                    const std::int64_t* target,
                                    std::int64_t count);

}  // namespace tally::internal::regression
