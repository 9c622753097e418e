#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"

namespace tally::losses::internal {

/// The norm, without overflow or underflow of squares.
double norm_of(const at::Tensor& tensor);

/// The expected relative rounding error of a sum of gradients of `dtype`.
double rounding_of(at::ScalarType dtype, double tolerance);

/// Whether several ranks get rows of the batch, and these are all the same.
bool same_rows(const std::vector<at::Tensor>& batch,
               const std::vector<std::int64_t>& rows);

/// Compares gradients with the expected ones.
class GradientComparison {
 public:
  /// Differences below `rounding` times the largest expected gradient are
  /// considered rounding errors.
  GradientComparison(const std::vector<at::Tensor>& expected, double tolerance,
                     double rounding);

  GradientCheck compare(std::string name, const at::Tensor& actual,
                        const at::Tensor& expected) const;
  /// The same for an input, and separately for each rank's rows: next to large
  /// gradients on one rank, wrong ones on another would go unnoticed.
  GradientCheck compare_rows(std::string name, const at::Tensor& actual,
                             const at::Tensor& expected,
                             const std::vector<std::int64_t>& rows) const;

 private:
  double tolerance_;
  double negligible_;
};

}  // namespace tally::losses::internal
