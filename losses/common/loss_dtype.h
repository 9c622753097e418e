#pragma once

#include <ATen/core/Tensor.h>

#include "tally/sync/reduction.h"

namespace tally::losses::internal {

/// In the dtype that losses are computed in.
inline at::Tensor in_dtype_of_losses(const at::Tensor& tensor) {
  const at::ScalarType dtype = sync::accumulate_dtype(tensor.scalar_type());
  return tensor.scalar_type() == dtype ? tensor : tensor.to(dtype);
}

}  // namespace tally::losses::internal
