#pragma once

#include <ATen/core/Tensor.h>

namespace tally::internal::image {

/// The sum of squared differences of each image: float64 [N] of images [N, ...]
/// of any real dtypes, with gradients of any order. On the CPU no map is kept,
/// and results do not depend on the number of threads.
at::Tensor squared_errors(const at::Tensor& x, const at::Tensor& y);

}  // namespace tally::internal::image
