#pragma once

#include <algorithm>

namespace tally::internal::detection {

/// Intersection over union of boxes {left, top, width, height}; over the area
/// of `a` alone if `b` is a crowd. 0 for boxes that do not overlap. In the
/// order of COCO's operations: compile without contraction.
inline double box_overlap(const double* a, const double* b, bool b_is_crowd) {
  const double width =
      std::min(a[2] + a[0], b[2] + b[0]) - std::max(a[0], b[0]);
  if (width <= 0) return 0;
  const double height =
      std::min(a[3] + a[1], b[3] + b[1]) - std::max(a[1], b[1]);
  if (height <= 0) return 0;
  const double both = width * height;
  const double area = a[2] * a[3];
  return both / (b_is_crowd ? area : area + b[2] * b[3] - both);
}

/// The same of boxes {left, top, right, bottom} whose edges are pixels, in the
/// order of PASCAL VOC's operations.
inline double pixel_box_overlap(const double* a, const double* b) {
  const double width =
      std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + 1.0, 0.0);
  const double height =
      std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + 1.0, 0.0);
  const double both = width * height;
  return both / ((a[2] - a[0] + 1.0) * (a[3] - a[1] + 1.0) +
                 (b[2] - b[0] + 1.0) * (b[3] - b[1] + 1.0) - both);
}

}  // namespace tally::internal::detection
