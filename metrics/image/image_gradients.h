#pragma once

#include <ATen/core/Tensor.h>

namespace tally {

/// The differences of neighboring pixels, as image_gradients() returns them.
struct ImageGradients {
  at::Tensor dy, dx;
};

/// The differences of each pixel and the next one below (dy) and to the right
/// (dx), 0 in the last row and column; [N, C, H, W] each, as the images.
/// Differentiable. Throws c10::ValueError for images of other dimensions, and
/// c10::TypeError unless they are dense, and floating point or signed integers.
///
/// Example:
///     auto [dy, dx] = image_gradients(at::rand({2, 3, 16, 16}));
ImageGradients image_gradients(const at::Tensor& img);

}  // namespace tally
