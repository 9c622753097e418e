#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tally::losses::internal {

/// A gradient computed in one process, and the point at which it was computed.
struct ReferenceGradient {
  std::string name;
  at::Tensor gradient;  ///< float64 on the CPU; undefined for none
  at::Tensor at;        ///< the point; not modified
  /// The loss at another point of this size and dtype.
  std::function<double(const at::Tensor& point)> loss;
};

/// The result of comparing gradients with finite differences of the loss.
struct ReferenceCheck {
  std::vector<std::string> cut;        ///< not the derivative
  std::vector<std::string> unchecked;  ///< not float64
};

/// `loss` is the loss at the gradients' points. Compares each gradient along
/// one direction, with two evaluations; non-finite gradients are skipped.
ReferenceCheck check_reference(const std::vector<ReferenceGradient>& gradients,
                               double loss);

}  // namespace tally::losses::internal
