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

}  // namespace tally::internal::detection
