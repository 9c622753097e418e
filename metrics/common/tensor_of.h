#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tally/state/fresh_tensor.h"

namespace tally::internal {

/// The numbers as a tensor [N] of their own type, on the CPU.
template <class T>
at::Tensor tensor_of(const std::vector<T>& numbers) {
  at::Tensor tensor = fresh_tensor({static_cast<std::int64_t>(numbers.size())},
                                   c10::CppTypeToScalarType<T>::value);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

/// The bytes as a uint8 tensor [N] on the CPU.
inline at::Tensor tensor_of(std::string_view bytes) {
  at::Tensor tensor =
      fresh_tensor({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(),
            tensor.mutable_data_ptr<std::uint8_t>());
  return tensor;
}

}  // namespace tally::internal
