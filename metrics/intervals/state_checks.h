#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

namespace tally::internal::intervals {

/// Throws c10::ValueError unless a tensor of a state has these sizes; a
/// checkpoint that was forged may say anything.
inline void check_state_sizes(const char* name, const at::Tensor& tensor,
                              at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(tensor.sizes() == sizes, "expected a state with ", name,
                    " of sizes ", sizes, ", got ", tensor.sizes());
}

}  // namespace tally::internal::intervals
