#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace tally::sync::internal {

/// The number, dtypes and sizes of tensors, which must be the same on every
/// rank, one line each. REQUIRES: all are defined.
std::string list_of(const std::vector<at::Tensor>& parameters);

/// An inference tensor can only be modified in inference mode.
bool is_writable(const at::Tensor& tensor);

}  // namespace tally::sync::internal
