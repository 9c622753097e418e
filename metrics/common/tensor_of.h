#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tally::internal {

/// The numbers as a tensor [N] of their own type, on the CPU.
template <class T>
at::Tensor tensor_of(const std::vector<T>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())},
                                c10::CppTypeToScalarType<T>::value);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

}  // namespace tally::internal
