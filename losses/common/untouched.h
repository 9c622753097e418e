#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace tally::losses::internal {

/// A tensor without a graph that must not be modified before a backward pass;
/// detects it if it is.
class UntouchedTensor {
 public:
  explicit UntouchedTensor(at::Tensor tensor)
      : tensor_(std::move(tensor)), version_(version_of(tensor_)) {}

  /// Throws c10::Error that calls it `what`.
  const at::Tensor& get(std::string_view loss, std::string_view what) const {
    TORCH_CHECK(version_of(tensor_) == version_, loss, ": ", what,
                ", which the backward pass needs, was changed in place");
    return tensor_;
  }

 private:
  static std::int64_t version_of(const at::Tensor& tensor) {
    return tensor.is_inference() ? 0 : tensor._version();
  }

  at::Tensor tensor_;
  std::int64_t version_;
};

}  // namespace tally::losses::internal
