#pragma once

#include <cstdint>
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

/// The codes of the elements of a mask's surface, in order: what it looks like
/// around corners between places (see SurfaceKind::kElement). They say which of
/// the 8 places around a corner, in an image 4, are in the mask, a bit for
/// each, the first place (in the order of planes, rows and places) highest.
std::vector<std::uint8_t> element_codes(const BitGrid& mask,
                                        const BitGrid& surface, int dims);

/// The areas of elements by their codes, in an image lengths: of marching cubes
/// (squares), which cut the lines between places in the middle.
std::vector<double> element_sizes(const GridSpacing& spacing, int dims);

/// A value, and how much it weighs.
struct Weighted {
  double value;
  double weight;
};

/// The percentile, from 0 to 100, with straight lines between values, as
/// numpy.percentile has it. REQUIRES: there are values, none NaN.
double percentile(std::vector<double> values, double percent);

/// The least value such that values up to it weigh `percent` of all. Weights
/// that miss that by the rounding of their sum reach it. REQUIRES: there are
/// values, none NaN; weights are 0 or more.
double weighted_percentile(std::vector<Weighted> values, double percent);

}  // namespace tally::internal::segmentation
