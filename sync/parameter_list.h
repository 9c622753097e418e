#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace tally::sync::internal {

/// How many tensors, of what dtypes and sizes: what must be the same on every
/// rank, a line for each. REQUIRES: all are defined.
std::string list_of(const std::vector<at::Tensor>& parameters);

}  // namespace tally::sync::internal
