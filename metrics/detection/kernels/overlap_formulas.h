#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/detection/options/box_overlap.h"

/// The overlap of two boxes, as one formula for doubles and for tensors of
/// boxes [...], which it is differentiable in.
namespace tally::internal::detection {

/// Edges of boxes.
template <class T>
struct Edges {
  T left, top, right, bottom;
};

inline double smaller(double a, double b) { return std::min(a, b); }
inline double larger(double a, double b) { return std::max(a, b); }
inline double at_least_0(double a) { return std::max(a, 0.0); }
inline double squared(double a) { return a * a; }
inline double constant(double a) { return a; }
/// a / b; 0, with zero gradients, where b is 0.
inline double ratio(double a, double b) { return b == 0 ? 0 : a / b; }
/// The angle of the diagonal of a box; 0, with zero gradients, for a point.
inline double aspect(double width, double height) {
  return std::atan2(width, height);
}

at::Tensor smaller(const at::Tensor& a, const at::Tensor& b);
at::Tensor larger(const at::Tensor& a, const at::Tensor& b);
at::Tensor at_least_0(const at::Tensor& a);
at::Tensor squared(const at::Tensor& a);
at::Tensor constant(const at::Tensor& a);
at::Tensor ratio(const at::Tensor& a, const at::Tensor& b);
at::Tensor aspect(const at::Tensor& width, const at::Tensor& height);

/// Compile without contraction to fused multiply-adds: doubles then round as
/// tensors do. The weight of the aspect ratios of kCIoU counts as a constant.
template <class T>
T overlap_of(const Edges<T>& a, const Edges<T>& b, BoxOverlap overlap) {
  const T width_a = a.right - a.left, height_a = a.bottom - a.top;
  const T width_b = b.right - b.left, height_b = b.bottom - b.top;
  const T intersection =
      at_least_0(smaller(a.right, b.right) - larger(a.left, b.left)) *
      at_least_0(smaller(a.bottom, b.bottom) - larger(a.top, b.top));
  const T all = width_a * height_a + width_b * height_b - intersection;
  const T iou = ratio(intersection, all);
  if (overlap == BoxOverlap::kIoU) return iou;

  // The smallest box around both.
  const T width = larger(a.right, b.right) - smaller(a.left, b.left);
  const T height = larger(a.bottom, b.bottom) - smaller(a.top, b.top);
  if (overlap == BoxOverlap::kGIoU) {
    const T area = width * height;
    return iou - ratio(area - all, area);
  }
  const T distance = (squared(a.left + a.right - b.left - b.right) +
                      squared(a.top + a.bottom - b.top - b.bottom)) *
                     0.25;
  const T diou = iou - ratio(distance, squared(width) + squared(height));
  if (overlap == BoxOverlap::kDIoU) return diou;

  const T difference =
      squared(aspect(width_b, height_b) - aspect(width_a, height_a)) *
      (4 / (kPi * kPi));
  const T weight = constant(ratio(difference, (1.0 - iou) + difference));
  return diou - weight * difference;
}

/// The overlaps of boxes [..., 4] of one dtype, of sizes that broadcast,
/// without checks.
at::Tensor overlaps_of(const at::Tensor& boxes, const at::Tensor& others,
                       BoxOverlap overlap);

}  // namespace tally::internal::detection
