#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tally::losses::internal {

/// A gradient of one process, and what it is the gradient by.
struct ReferenceGradient {
  std::string name;
  at::Tensor gradient;  ///< float64 on the CPU; undefined for none
  at::Tensor at;        ///< the point; not changed
  /// The loss at another point of this size and dtype.
  std::function<double(const at::Tensor& point)> loss;
};

/// Gradients held against differences of the loss.
struct ReferenceCheck {
  std::vector<std::string> cut;        ///< no derivatives
  std::vector<std::string> unchecked;  ///< not float64
};

/// `loss` is the loss at the gradients' points. Compares along one direction
/// each, by two evaluations; gradients that are not finite are left out.
ReferenceCheck check_reference(const std::vector<ReferenceGradient>& gradients,
                               double loss);

}  // namespace tally::losses::internal
