#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace tally::internal {

/// An image as a PNG file.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;
  std::string png;
};

/// An image of a matrix of counts: a square per cell, colored by its part of
/// the row's sum, from dark blue (0) to yellow (1) in matplotlib's cividis,
/// which readers with any color vision tell apart. Rows without counts are
/// dark. REQUIRES: a matrix of real numbers with rows and columns.
Picture matrix_picture(const at::Tensor& matrix);

/// Throws c10::ValueError and c10::TypeError unless picture_of() takes it:
/// [1, H, W] (gray), [3, H, W] (RGB) or [4, H, W] (RGBA), with at least one
/// pixel and at most 2^24 in each dimension; uint8, or floating-point in [0,
/// 1]. `name` is for the message.
void check_picture(const std::string& name, const at::Tensor& pixels);

/// Floating-point pixels are rounded to 256 levels. REQUIRES: check_picture().
Picture picture_of(const at::Tensor& pixels);

}  // namespace tally::internal
