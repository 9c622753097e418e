#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace tally::sync::internal {

/// How many tensors, of what dtypes and sizes: what must be the same on every
/// rank, a line for each. REQUIRES: all are defined.
std::string list_of(const std::vector<at::Tensor>& parameters);

/// An inference tensor can be written to in inference mode only.
bool is_writable(const at::Tensor& tensor);

}  // namespace tally::sync::internal
