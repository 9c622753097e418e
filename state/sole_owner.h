#pragma once

#include <ATen/core/Tensor.h>

namespace tally::internal {

/// Whether neither the tensor nor its storage is shared, so that modifying it
/// in place is safe. REQUIRES: it is defined.
inline bool is_sole_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

}  // namespace tally::internal
