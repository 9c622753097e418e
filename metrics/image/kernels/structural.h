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

}  // namespace tally::internal::image
