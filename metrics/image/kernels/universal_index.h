#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/image/kernels/windows.h"

namespace tally::internal::image {

/// Wang and Bovik's universal quality index of float64 images [N, C, H, W],
/// averaged over windows: [N, C]. Windows in which both images are constant
/// have a contrast of 1, and a luminance of 1 where both are 0.
at::Tensor universal_index(const at::Tensor& x, const at::Tensor& y,
                           const Taps& taps);

/// (mean over the last dimension of |x|^p)^(1 / p), with a gradient of 0 where
/// it is 0; 0 over nothing.
at::Tensor power_mean(const at::Tensor& x, std::int64_t p);

}  // namespace tally::internal::image
