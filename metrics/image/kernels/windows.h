#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

/// Sliding windows over float64 tensors, with gradients of any order.
namespace tally::internal::image {

/// The weights of a window along a dimension, which add up to 1.
using Taps = std::vector<double>;
Taps uniform_taps(std::int64_t size);
Taps gaussian_taps(std::int64_t size, double sigma);

/// The weighted mean in each window of the last `dims` dimensions that lies
/// within the tensor.
at::Tensor windowed(const at::Tensor& values, const Taps& taps,
                    std::int64_t dims = 2);

/// Continued by its mirror image beyond both ends of each of the last two
/// dimensions, the outermost values included: b a | a b c | c b.
at::Tensor mirrored(const at::Tensor& values, std::int64_t before,
                    std::int64_t after);

/// The same without them, in the last `dims` dimensions: c b | a b c | b a.
at::Tensor reflected(const at::Tensor& values, std::int64_t size,
                     std::int64_t dims);

/// Continued by so many zeros beyond both ends of the last `dims` dimensions.
at::Tensor zero_padded(const at::Tensor& values, std::int64_t size,
                       std::int64_t dims);

/// Whether all values of a window are equal, in each window of `size` in the
/// last two dimensions.
at::Tensor is_flat(const at::Tensor& values, std::int64_t size);

/// The square root; where it is 0, its gradient is 0, too.
at::Tensor root(const at::Tensor& values);

/// Twice the sum of each pixel's differences from its eight neighbors, of
/// images [N, C, H, W] continued by their mirror images: exactly 0 where they
/// are equal.
at::Tensor neighbor_differences(const at::Tensor& images);

/// The means of windows around each pixel of [N, C, H, W], without those nearer
/// to the border than half a window, rounded to even.
at::Tensor inner_means(const at::Tensor& values, std::int64_t size);

/// c10::ValueError unless images [N, C, ...] have at least so many values in
/// each dimension behind the channels, as windows of `size` need, after that
/// many halvings.
void check_extents(const at::Tensor& images, std::int64_t least,
                   std::int64_t size, std::int64_t halvings = 0);
/// c10::ValueError if inner_means() leaves no pixel.
void check_pixel_windows(std::int64_t size, const at::Tensor& images);

}  // namespace tally::internal::image
