#pragma once

#include <vector>

namespace tally::internal {

/// A point of a drawing, in pixels.
struct PlotPoint {
  double x = 0;
  double y = 0;
};

/// The points of a curve that are needed to draw it: no point that is dropped
/// is further than `tolerance` from the line between its neighbors that stay
/// (Douglas and Peucker, "Algorithms for the reduction of the number of points
/// required to represent a digitized line or its caricature", Cartographica
/// 10(2), 1973). The first and the last one stay.
std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points,
                               double tolerance);

}  // namespace tally::internal
