#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tally::losses::internal {

/// Rows are numbered in 31 bits.
inline constexpr std::int64_t kMostErrors = (std::int64_t{1} << 31) - 1;

/// The Lovasz extension of the Jaccard loss for one class after the other.
///
/// `errors` [C, M] are those of all ranks' rows, at least 0, with the sign bit
/// set for positives (-0 for a positive without error), float32 or float64;
/// `positives` [C] says how many there are, also beyond these rows. With the
/// errors of a class in descending order, of which the first k have c_k
/// positives and q_k negatives, and G positives in all:
///
///   loss = sum_k e_k (J_k - J_{k-1}),   J_k = 1 - (G - c_k) / (G + q_k)
///
/// The differences are computed in closed form, as those of two numbers near 1
/// would have no correct digit: 1 / (G + q) for a positive, (G - c) / ((G + q)
/// (G + q + 1)) for a negative, c and q of those before. Among equal errors
/// positives come first, and the negatives share theirs: the result does not
/// depend on the order of rows.
struct LovaszTerms {
  at::Tensor values;  ///< [C], float64
  /// [C, rows]: the derivatives by the errors of rows from `first` on.
  at::Tensor slopes;
};
/// With `by_probability`, slopes are the derivatives by p of errors p, and of
/// 1 - p for positives.
LovaszTerms lovasz_terms(const at::Tensor& errors,
                         const std::vector<std::int64_t>& positives,
                         std::int64_t first, std::int64_t rows,
                         bool by_probability);

/// `errors` with the sign bit set where `positive`.
at::Tensor marked(const at::Tensor& errors, const at::Tensor& positive);

/// The marked errors |y - p| of probabilities p [C, n] of these classes, and
/// how many rows have each as their target, [n].
struct ClassErrors {
  at::Tensor errors;  ///< [C, n]
  std::vector<std::int64_t> positives;
};
ClassErrors class_errors(const at::Tensor& p, const at::Tensor& target,
                         const std::vector<std::int64_t>& classes);

}  // namespace tally::losses::internal
