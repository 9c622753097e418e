#pragma once

#include <cstdint>

#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/states/joint_moments.h"

/// JointMoments of plain tensors.
namespace tally::internal::regression {

struct WeightedMoments {
  Moments<double> moments;
  double weight = 0;
};

inline double nonzero(double weight) { return weight == 0 ? 1 : weight; }
Number nonzero(const Number& weight);

/// If both are constant and equal, the differences are exactly 0 and the result
/// is again exactly constant.
template <class T>
Moments<T> merge_moments(const Moments<T>& a, const T& weight_a,
                         const Moments<T>& b, const T& weight_b) {
  const T share = weight_b / nonzero(weight_a + weight_b);
  const T preds = b.mean_preds - a.mean_preds;
  const T target = b.mean_target - a.mean_target;
  const T factor = weight_a * share;
  return {a.mean_preds + preds * share,
          a.mean_target + target * share,
          a.squares_preds + b.squares_preds + preds * preds * factor,
          a.squares_target + b.squares_target + target * target * factor,
          a.products + b.products + preds * target * factor,
          a.squared_error + b.squared_error};
}

/// For one output; weight may be null. REQUIRES: there are samples.
WeightedMoments plain_moments(const Samples& samples, const double* weight);

/// For several outputs: merges into moments [6, outputs], and returns the sum
/// of the weights.
double plain_output_moments(const Samples& samples, const double* weight,
                            double* moments);

/// Column `output` of [6, outputs].
Moments<double> moments_column(const double* rows, std::int64_t outputs,
                               std::int64_t output);
void set_moments_column(double* rows, std::int64_t outputs, std::int64_t output,
                        const Moments<double>& value);

}  // namespace tally::internal::regression
