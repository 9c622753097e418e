#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/StringUtil.h>

#include <string>

namespace tally::losses::internal {

/// "CPUFloatType [2, 3]", for messages about a tensor.
inline std::string shape_text(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

}  // namespace tally::losses::internal
