#pragma once

#include <ATen/core/Tensor.h>

/// Sums whose rounding depends only on the numbers, not on the processor,
/// device, threads or other rows: composed of additions and multiplications of
/// tensors, each rounded separately. For choosing between codes.
namespace tally::losses::internal {

/// The sum over the last dimension, without a graph.
at::Tensor fixed_sum(const at::Tensor& terms);

/// matmul(vectors, matrix), with its gradient; for small matrices.
at::Tensor fixed_product(const at::Tensor& vectors, const at::Tensor& matrix);

/// Normalizes vectors along the last dimension to length 1.
at::Tensor unit_vectors(const at::Tensor& vectors);

}  // namespace tally::losses::internal
