#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace digits {

/// Images of handwritten digits.
struct Digits {
  at::Tensor images;  ///< [N, 64] float64, 8 x 8 pixels from 0 to 1
  at::Tensor labels;  ///< [N] int64, 0 to 9

  std::int64_t size() const { return labels.size(0); }
  Digits rows(const at::Tensor& indices) const;
};

/// Finds the file in the repository, wherever the program is started. Throws
/// std::runtime_error if it is not found.
std::string find_digits();

/// Reads lines of 64 pixels (0 to 16) and a digit, separated by commas. Throws
/// std::runtime_error that names the file, and the row and column (from 1) of
/// an invalid value.
Digits read_digits(const std::string& path);

/// Always the same 360 images in `test`, and the others in `train`.
struct Split {
  Digits train;
  Digits test;
};
Split split(const Digits& digits);

}  // namespace digits
