#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"

namespace tally::losses::internal {

/// Without over- or underflow of squares.
double norm_of(const at::Tensor& tensor);

/// The relative error that rounding explains in a sum of gradients of `dtype`.
double rounding_of(at::ScalarType dtype, double tolerance);

/// Whether several ranks get `rows` of the batch, and all of them the same.
bool same_rows(const std::vector<at::Tensor>& batch,
               const std::vector<std::int64_t>& rows);

/// Compares gradients with those that they should be.
class GradientComparison {
 public:
  /// What differs by less than `rounding` times the largest of all that is
  /// expected cannot be told apart.
  GradientComparison(const std::vector<at::Tensor>& expected, double tolerance,
                     double rounding);

  GradientCheck compare(std::string name, const at::Tensor& actual,
                        const at::Tensor& expected) const;
  /// The same for an input, and each rank's rows by themselves: beside large
  /// gradients on one rank, wrong ones on another would not show.
  GradientCheck compare_rows(std::string name, const at::Tensor& actual,
                             const at::Tensor& expected,
                             const std::vector<std::int64_t>& rows) const;

 private:
  double tolerance_;
  double negligible_;
};

}  // namespace tally::losses::internal
