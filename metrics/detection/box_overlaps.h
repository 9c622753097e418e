#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/detection/options/box_overlap.h"

/// Overlaps of boxes: differentiable functions, not metrics.
///
/// Boxes are [..., 4], of any floating dtype: left, top, right and bottom, with
/// right >= left and bottom >= top. Overlaps are computed in float32 or wider.
/// A quotient whose divisor is 0, as the IoU of two boxes without areas, is 0,
/// with zero gradients; the weight of the aspect ratios of BoxOverlap::kCIoU is
/// a constant, as in the paper. NaN and infinity propagate.
/// Errors: c10::ValueError for other sizes and dtypes, and for boxes of
/// negative width or height, naming the box. Source: Rezatofighi et al., CVPR
/// 2019 (GIoU); Zheng et al., AAAI 2020 (DIoU, CIoU). torchvision's functions
/// add 1e-7 to divisors.
namespace tally {

/// The overlap of boxes with others of a size that broadcasts.
///
/// Example:
///     at::Tensor overlaps = box_overlaps(boxes, boxes, BoxOverlap::kGIoU);
at::Tensor box_overlaps(const at::Tensor& boxes, const at::Tensor& others,
                        BoxOverlap overlap);

/// The overlaps of all boxes [N, 4] with all others [M, 4]: [N, M].
///
/// Example:
///     at::Tensor overlaps =
///         box_overlap_matrix(boxes, boxes, BoxOverlap::kIoU);
at::Tensor box_overlap_matrix(const at::Tensor& boxes, const at::Tensor& others,
                              BoxOverlap overlap);

/// The one-to-one pairs of boxes [N, 4] and others [M, 4] whose overlaps have
/// the largest sum: their indexes, int64 [min(N, M), 2], ascending by box. Sums
/// that differ by less than 1e-9 of the largest overlap count as equal, and of
/// these the lexicographically first pairs are taken. Not differentiable.
///
/// Example:
///     at::Tensor pairs = match_boxes(boxes, boxes, BoxOverlap::kIoU);
at::Tensor match_boxes(const at::Tensor& boxes, const at::Tensor& others,
                       BoxOverlap overlap);

/// The mean overlap of boxes [N, 4] and as many others, the first with the
/// first: 0-dim, NaN without boxes.
///
/// Example:
///     at::Tensor mean = paired_box_overlap(boxes, boxes, BoxOverlap::kIoU);
at::Tensor paired_box_overlap(const at::Tensor& boxes, const at::Tensor& others,
                              BoxOverlap overlap);

/// The mean overlap of the pairs of match_boxes(): 0-dim, NaN without pairs.
///
/// Example:
///     at::Tensor mean = matched_box_overlap(boxes, boxes, BoxOverlap::kIoU);
at::Tensor matched_box_overlap(const at::Tensor& boxes,
                               const at::Tensor& others, BoxOverlap overlap);

namespace internal::detection {

/// Throws c10::ValueError, beginning with `name`, unless boxes are as above.
void check_boxes(const char* name, const at::Tensor& boxes);

}  // namespace internal::detection
}  // namespace tally
