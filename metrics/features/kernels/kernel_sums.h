#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Sums of a polynomial kernel over pairs of rows, a tile of pairs at a time.
namespace tally::internal::features {

/// k(x, y) = (gamma x.y + coef)^degree.
struct PolynomialKernel {
  std::int64_t degree;
  double gamma;
  double coef;
};

/// The unbiased estimate of the squared maximum mean discrepancy of rows [N, D]
/// and [M, D], float64 on the CPU, over all pairs; the same for any number of
/// threads. NaN for fewer than two rows of either.
double squared_discrepancy(const at::Tensor& x, const at::Tensor& y,
                           const PolynomialKernel& kernel);

/// The places of the `size` samples that belong to a subset: those of the
/// smallest hashes of `key` and their ids, int64 [N] on the CPU.
at::Tensor subset_of(const at::Tensor& ids, std::uint64_t key,
                     std::int64_t size);

}  // namespace tally::internal::features
