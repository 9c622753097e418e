#pragma once

#include <ATen/core/Tensor.h>

namespace tally::internal {

/// Whether nobody else holds the tensor or its memory, and so would see what is
/// written to it. REQUIRES: it is defined.
inline bool is_sole_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

}  // namespace tally::internal
