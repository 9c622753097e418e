#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tally::internal::image {

/// The means of windows around each pixel of [N, C, H, W], images being
/// continued by their mirror images, without those nearer to the border than
/// half a window, rounded to even.
at::Tensor inner_means(const at::Tensor& values, std::int64_t size);

/// c10::ValueError if that leaves no pixel.
void check_pixel_windows(std::int64_t size, const at::Tensor& images);

}  // namespace tally::internal::image
