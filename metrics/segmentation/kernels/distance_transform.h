#pragma once

#include <array>

#include "tally/metrics/segmentation/kernels/bit_grid.h"

namespace tally::internal::segmentation {

/// How far two places are from each other, of their distances along the axes.
enum class GridDistance {
  kEuclidean,   ///< the root of the sum of squares
  kChessboard,  ///< the largest
  kTaxicab,     ///< the sum
};

/// Between planes, rows and places of a row.
using GridSpacing = std::array<double, 3>;

/// Writes to `out`, one number for each place of the grid, how far it is from
/// the nearest place that is set; kEuclidean: the square of that. With
/// `wanted`, of the same extents, only where that is set: elsewhere nothing is
/// written, or something else. Squares of unit spacing are exact below 2^24,
/// others to 1e-7 of themselves. Linear in the number of places (kChessboard:
/// times the distance). REQUIRES: something is set. Source: Felzenszwalb and
/// Huttenlocher 2012; Maurer, Qi and Raghavan 2003.
void distance_transform(const BitGrid& seeds, const GridSpacing& spacing,
                        GridDistance distance, const BitGrid* wanted,
                        float* out);

}  // namespace tally::internal::segmentation
