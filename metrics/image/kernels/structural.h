#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/image/kernels/windows.h"

namespace tally::internal::image {

/// Constants of structural similarity.
struct SsimConstants {
  double c1, c2;
  /// See SsimWindow.
  bool has_flat = false;
};

/// The mean structural similarity of planes [P, H, W], or [P, D, H, W], and the
/// mean of its factor of contrast: float64 [P, 2]. Of planes on the CPU it
/// keeps only those for the gradient, which is computed anew from them; with
/// create_graph with LibTorch's operations, which keep maps. Results do not
/// depend on the number of threads.
at::Tensor structural_similarity(const at::Tensor& preds,
                                 const at::Tensor& target, const Taps& taps,
                                 const SsimConstants& constants);

/// Variances and covariance in each window, of x + y and x - y: [N, ...]
/// each. The last two dimensions, or three, slide.
struct JointVariances {
  at::Tensor plus, minus;
};
JointVariances joint_variances(const at::Tensor& x, const at::Tensor& y,
                               const Taps& taps, std::int64_t dims = 2);

/// Wang and Bovik's universal quality index of float64 images [N, C, H, W],
/// averaged over windows: [N, C]. Windows in which both images are constant
/// have a contrast of 1, and a luminance of 1 where both are 0.
at::Tensor universal_index(const at::Tensor& x, const at::Tensor& y,
                           const Taps& taps);

/// (mean over the last dimension of |x|^p)^(1 / p), with a gradient of 0 where
/// it is 0; 0 over nothing.
at::Tensor power_mean(const at::Tensor& x, std::int64_t p);

}  // namespace tally::internal::image
