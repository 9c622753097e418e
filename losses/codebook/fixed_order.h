#pragma once

#include <ATen/core/Tensor.h>

/// Sums whose rounding depends on the numbers alone, not on the processor, the
/// device, threads or other rows: made of additions and multiplications of
/// tensors, each rounded by itself. For what decides between codes.
namespace tally::losses::internal {

/// Along the last dimension, which goes. Without a graph.
at::Tensor fixed_sum(const at::Tensor& terms);

/// matmul(vectors, matrix), with its gradient; for small matrices.
at::Tensor fixed_product(const at::Tensor& vectors, const at::Tensor& matrix);

/// Vectors of length 1 along the last dimension.
at::Tensor unit_vectors(const at::Tensor& vectors);

}  // namespace tally::losses::internal
