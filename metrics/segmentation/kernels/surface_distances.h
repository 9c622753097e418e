#pragma once

#include <vector>

#include "tally/metrics/segmentation/kernels/bit_grid.h"
#include "tally/metrics/segmentation/kernels/distance_transform.h"

namespace tally::internal::segmentation {

/// The surface of one mask, in no order that means anything.
struct SurfacePoints {
  /// Of each point, how far it is from the other mask's surface. Empty if
  /// either surface is.
  std::vector<double> distances;
  /// The points' sizes; empty: 1 each.
  std::vector<double> sizes;
  /// Whether the surface has no points.
  bool is_empty = true;

  double size(std::size_t i) const { return sizes.empty() ? 1 : sizes[i]; }
};

/// Two masks of a class in a sample: a case.
struct SurfacePair {
  SurfacePoints preds;
  SurfacePoints target;

  /// Whether one surface has points and the other one has none.
  bool is_one_sided() const { return preds.is_empty != target.is_empty; }
  bool is_absent() const { return preds.is_empty && target.is_empty; }
};

/// What distances between surfaces depend on.
struct SurfaceGeometry {
  SurfaceKind kind = SurfaceKind::kVoxel;
  GridDistance distance = GridDistance::kEuclidean;
  GridSpacing spacing = {1, 1, 1};
  int dims = 3;
};

/// Masks of equal extents. What is outside of them is in neither.
SurfacePair surface_distances(const BitGrid& preds, const BitGrid& target,
                              const SurfaceGeometry& geometry);

}  // namespace tally::internal::segmentation
