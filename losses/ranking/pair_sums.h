#pragma once

#include <ATen/core/Tensor.h>

namespace tally::losses::internal {

/// The sum of w_j f(b_i - a_j) over all pairs, and its derivatives. Weights are
/// 1 if undefined.
struct PairSums {
  double value;
  at::Tensor by_a;  ///< [a]
  at::Tensor by_b;  ///< [b]
};

/// f(x) = max(0, x)^2, of float64 numbers near 0, in O((a + b) log a). All NaN
/// if a number is.
PairSums squared_hinge_pairs(const at::Tensor& a, const at::Tensor& b,
                             const at::Tensor& weights = {});

/// f(x) = log(1 + exp(scale x)), in tiles.
PairSums logistic_pairs(const at::Tensor& a, const at::Tensor& b, double scale,
                        const at::Tensor& weights = {});

}  // namespace tally::losses::internal
