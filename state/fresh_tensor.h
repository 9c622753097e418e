#pragma once

#include <ATen/core/Tensor.h>

/// Fast creation of CPU tensors: updates and results need many small ones.
namespace tally::internal {

/// A contiguous, uninitialized tensor. For small ones it takes half the time of
/// at::detail::empty_cpu, whose aligned allocation bypasses the fast paths of
/// malloc and free; large ones lie in large pages.
at::Tensor fresh_tensor(at::IntArrayRef sizes, at::ScalarType dtype);

/// The same, filled with zeros.
at::Tensor fresh_zeros(at::IntArrayRef sizes, at::ScalarType dtype);

/// tensor.clone(); nine times as fast for a small plain tensor.
at::Tensor fresh_copy(const at::Tensor& tensor);

}  // namespace tally::internal
