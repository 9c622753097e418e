#include "tally/metrics/pairwise/pairwise.h"

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"
#include "tally/metrics/pairwise/pair_tiles.h"

namespace tally {
namespace {

using internal::pairwise::Pairs;

at::ScalarType floating(at::ScalarType type) {
  return at::isFloatingType(type) ? type : at::kDouble;
}

Pairs pairs_of(const at::Tensor& x, const at::Tensor& y,
               const PairwiseOptions& options) {
  internal::check_real("x", x);
  TORCH_CHECK_VALUE(x.dim() == 2, "expected x of shape [N, D], got ",
                    x.sizes());
  Pairs pairs{x, x, options.reduction(), options.zero_diagonal().value_or(true),
              floating(x.scalar_type())};
  if (!y.defined()) return pairs;
  internal::check_real("y", y);
  internal::check_same_device("x", x, "y", y);
  TORCH_CHECK_VALUE(y.dim() == 2 && y.size(1) == x.size(1),
                    "expected y of shape [M, ", x.size(1),
                    "], with as many columns as x, got ", y.sizes());
  pairs.y = y;
  pairs.zero_diagonal = options.zero_diagonal().value_or(false);
  pairs.dtype = floating(c10::promoteTypes(x.scalar_type(), y.scalar_type()));
  return pairs;
}

// In what matrices are multiplied.
at::ScalarType factor_type(at::ScalarType result) {
  return result == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor unit_rows(const at::Tensor& rows, at::ScalarType dtype) {
  if (rows.size(1) == 0) return rows.to(dtype);
  const at::Tensor wide = rows.to(at::kDouble);
  const at::Tensor largest =
      wide.detach().abs().amax(at::IntArrayRef{1}, /*keepdim=*/true);
  const at::Tensor is_zero = largest.eq(0);
  // Squares of what is near 1 neither overflow nor vanish.
  const at::Tensor scaled = wide.div(largest.masked_fill(is_zero, 1));
  const at::Tensor length = scaled.square()
                                .sum(at::IntArrayRef{1}, /*keepdim=*/true)
                                .masked_fill(is_zero, 1)
                                .sqrt();
  return scaled.div(length).masked_fill(is_zero, 0).to(dtype);
}

at::Tensor linear(const Pairs& pairs) {
  const at::ScalarType dtype = factor_type(pairs.dtype);
  if (pairs.reduction != PairReduction::kNone) {
    return internal::pairwise::products(pairs);
  }
  at::Tensor result = pairs.x.to(dtype).matmul(pairs.y.to(dtype).t());
  if (pairs.zero_diagonal) result.diagonal().zero_();
  return result.to(pairs.dtype);
}

}  // namespace

at::Tensor pairwise_cosine_similarity(const at::Tensor& x, const at::Tensor& y,
                                      const PairwiseOptions& options) {
  Pairs pairs = pairs_of(x, y, options);
  const at::ScalarType dtype = factor_type(pairs.dtype);
  pairs.x = unit_rows(pairs.x, dtype);
  pairs.y = y.defined() ? unit_rows(pairs.y, dtype) : pairs.x;
  return linear(pairs);
}

at::Tensor pairwise_linear_similarity(const at::Tensor& x, const at::Tensor& y,
                                      const PairwiseOptions& options) {
  return linear(pairs_of(x, y, options));
}

at::Tensor pairwise_euclidean_distance(const at::Tensor& x, const at::Tensor& y,
                                       const PairwiseOptions& options) {
  return internal::pairwise::distances(pairs_of(x, y, options), 2);
}

at::Tensor pairwise_manhattan_distance(const at::Tensor& x, const at::Tensor& y,
                                       const PairwiseOptions& options) {
  return internal::pairwise::distances(pairs_of(x, y, options), 1);
}

at::Tensor pairwise_minkowski_distance(const at::Tensor& x, const at::Tensor& y,
                                       double exponent,
                                       const PairwiseOptions& options) {
  TORCH_CHECK_VALUE(exponent >= 1, "expected an exponent of at least 1, got ",
                    exponent);
  return internal::pairwise::distances(pairs_of(x, y, options), exponent);
}

}  // namespace tally
