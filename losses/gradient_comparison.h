#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"

namespace tally::losses::internal {

double norm(const at::Tensor& tensor);

/// Compares gradients with those that they should be.
class GradientComparison {
 public:
  /// What is small beside all that is expected counts as zero.
  GradientComparison(const std::vector<at::Tensor>& expected, double tolerance);

  GradientCheck compare(std::string name, const at::Tensor& actual,
                        const at::Tensor& expected) const;
  /// The same for an input, rank by rank where one factor does not do.
  GradientCheck compare_rows(std::string name, const at::Tensor& actual,
                             const at::Tensor& expected,
                             const std::vector<std::int64_t>& rows) const;

 private:
  double tolerance_;
  double negligible_;
};

}  // namespace tally::losses::internal
