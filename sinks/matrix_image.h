#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace tally::internal {

/// An image of a matrix of counts: a square per cell, colored by its part of
/// the row's sum, from dark blue (0) to yellow (1) in matplotlib's cividis,
/// which readers with any color vision tell apart. Rows without counts are
/// dark.
struct MatrixImage {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::string png;
};
/// REQUIRES: a matrix of real numbers with rows and columns.
MatrixImage matrix_image(const at::Tensor& matrix);

}  // namespace tally::internal
