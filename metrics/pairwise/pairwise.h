#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <optional>

/// Similarities and distances between all rows of two matrices: differentiable
/// functions, not metrics.
///
/// x is [N, D] and y is [M, D], of real dtypes and on the same device; if y is
/// omitted (undefined), it is x.
/// Result: [N, M], or [N] with a reduction; of the dtype to which both promote,
/// float64 for integers. Memory is that of the result and of tiles of fixed
/// size: with a reduction, N x M numbers are never held at once.
/// Empty: without rows in y, a mean is NaN and a sum 0. NaN and infinity
/// propagate.
/// Errors: c10::ValueError for other shapes or devices; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable by x and y; the gradients of distances, and of similarities
/// with a reduction, have none of their own (c10::Error).
namespace tally {

/// What becomes of the values of a row of x with all rows of y.
enum class PairReduction {
  kNone,  ///< they stay: [N, M]
  kMean,  ///< their mean, over all M also where the diagonal is zeroed: [N]
  kSum,   ///< their sum: [N]
};

/// Options of pairwise_cosine_similarity and its neighbors.
///
/// Example:
///     at::Tensor nearness = pairwise_cosine_similarity(
///         x, y, PairwiseOptions().reduction(PairReduction::kMean));
struct PairwiseOptions {
  /// Default: kNone.
  TORCH_ARG(PairReduction, reduction) = PairReduction::kNone;
  /// Whether the values of x[i] and y[i] are 0. Default: none, which is true
  /// without y and false with it.
  TORCH_ARG(std::optional<bool>, zero_diagonal) = std::nullopt;
};

/// The cosine of the angle between rows: 0, with a gradient of 0, for a row of
/// zeros.
///
///     sum_d x_d y_d / (|x| |y|)
///
/// Example:
///     at::Tensor similarities = pairwise_cosine_similarity(x);
at::Tensor pairwise_cosine_similarity(const at::Tensor& x,
                                      const at::Tensor& y = {},
                                      const PairwiseOptions& options = {});

/// The product of rows.
///
///     sum_d x_d y_d
///
/// Example:
///     at::Tensor products = pairwise_linear_similarity(x, y);
at::Tensor pairwise_linear_similarity(const at::Tensor& x,
                                      const at::Tensor& y = {},
                                      const PairwiseOptions& options = {});

/// The Euclidean distance between rows, in float64, and as exact as from their
/// differences: also of points that are near each other and far from 0. The
/// gradient at distance 0 is 0.
///
///     sqrt(sum_d (x_d - y_d)^2)
///
/// Example:
///     at::Tensor distances = pairwise_euclidean_distance(x, y);
at::Tensor pairwise_euclidean_distance(const at::Tensor& x,
                                       const at::Tensor& y = {},
                                       const PairwiseOptions& options = {});

/// The Manhattan distance between rows, as pairwise_euclidean_distance. Where
/// elements are equal the gradient is 0.
///
///     sum_d |x_d - y_d|
///
/// Example:
///     at::Tensor distances = pairwise_manhattan_distance(x, y);
at::Tensor pairwise_manhattan_distance(const at::Tensor& x,
                                       const at::Tensor& y = {},
                                       const PairwiseOptions& options = {});

/// The Minkowski distance between rows, as pairwise_euclidean_distance.
///
///     (sum_d |x_d - y_d|^p)^(1/p), p being the exponent
///
/// c10::ValueError for an exponent below 1; infinity gives the largest
/// difference.
///
/// Example:
///     at::Tensor distances = pairwise_minkowski_distance(x, y, 3);
at::Tensor pairwise_minkowski_distance(const at::Tensor& x,
                                       const at::Tensor& y = {},
                                       double exponent = 2,
                                       const PairwiseOptions& options = {});

}  // namespace tally
