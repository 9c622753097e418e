#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/pairwise/pairwise.h"

/// Functions of all pairs of rows, a tile of pairs at a time.
namespace tally::internal::pairwise {

/// Checked inputs of a pairwise function.
struct Pairs {
  at::Tensor x;  // [N, D]
  at::Tensor y;  // [M, D]
  PairReduction reduction;
  bool zero_diagonal;
  at::ScalarType dtype;  // of the result
};

/// Minkowski distances.
at::Tensor distances(const Pairs& pairs, double exponent);

/// Products of rows, reduced. REQUIRES: there is a reduction.
at::Tensor products(const Pairs& pairs);

}  // namespace tally::internal::pairwise
