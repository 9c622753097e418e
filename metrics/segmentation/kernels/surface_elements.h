#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/segmentation/kernels/bit_grid.h"
#include "tally/metrics/segmentation/kernels/distance_transform.h"

/// Elements of surface: what a mask's surface looks like around a corner
/// between places (see SurfaceKind::kElement).
namespace tally::internal::segmentation {

/// The codes of the elements of a mask's surface, in order: which of the 8
/// places around a corner, in an image 4, are in the mask, a bit for each, the
/// first place (in the order of planes, rows and places) highest.
std::vector<std::uint8_t> element_codes(const BitGrid& mask,
                                        const BitGrid& surface, int dims);

/// The areas of elements by their codes, in an image lengths: of marching cubes
/// (squares), which cut the lines between places in the middle.
std::vector<double> element_sizes(const GridSpacing& spacing, int dims);

}  // namespace tally::internal::segmentation
