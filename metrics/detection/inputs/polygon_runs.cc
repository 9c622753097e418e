#include "tally/metrics/detection/inputs/polygon_runs.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tally::internal::detection {
namespace {

constexpr double kMostCoordinate = 1e6;
constexpr int kScale = 5;

struct Point {
  int x = 0;
  int y = 0;
};

// Rounded toward 0.
int rounded(double value) { return static_cast<int>(value + 0.5); }

Point scaled(double x, double y) {
  return {rounded(kScale * x), rounded(kScale * y)};
}

std::vector<Point> corners_of(const std::vector<double>& polygon) {
  TORCH_CHECK_VALUE(
      polygon.size() >= 6 && polygon.size() % 2 == 0,
      "expected polygons of 6 coordinates or more, an even number, got ",
      polygon.size());
  for (const double coordinate : polygon) {
    TORCH_CHECK_VALUE(std::abs(coordinate) <= kMostCoordinate,
                      "expected polygons with coordinates up to 10^6, got ",
                      coordinate);
  }
  std::vector<Point> corners;
  for (std::size_t i = 0; i < polygon.size(); i += 2) {
    corners.push_back(scaled(polygon[i], polygon[i + 1]));
  }
  return corners;
}

// Calls visit(point) for each step from `from` to `to`. A line is the same in
// both directions.
template <class Visit>
void walk(Point from, Point to, const Visit& visit) {
  const int width = std::abs(to.x - from.x);
  const int height = std::abs(to.y - from.y);
  const bool is_flat = width >= height;
  const bool is_backward = is_flat ? from.x > to.x : from.y > to.y;
  const Point low = is_backward ? to : from;
  const Point high = is_backward ? from : to;
  const int steps = is_flat ? width : height;
  double slope = 0;
  if (steps > 0) {
    slope =
        static_cast<double>(is_flat ? high.y - low.y : high.x - low.x) / steps;
  }
  for (int step = 0; step <= steps; ++step) {
    const int t = is_backward ? steps - step : step;
    if (is_flat) {
      visit(Point{low.x + t, rounded(low.y + slope * t)});
    } else {
      visit(Point{rounded(low.x + slope * t), low.y + t});
    }
  }
}

// The first row whose center is not above `y`.
std::int64_t row_of(int y, std::int64_t height) {
  const int above = y + kScale / 2;
  return above < 0 ? 0 : std::min<std::int64_t>(above / kScale, height);
}

}  // namespace

std::vector<std::uint32_t> polygon_runs(const std::vector<double>& polygon,
                                        std::int64_t height,
                                        std::int64_t width) {
  const std::vector<Point> corners = corners_of(polygon);
  // Where the outline crosses the center of a column, pixels below change.
  std::vector<std::uint32_t> changes;
  bool is_first = true;
  Point last;
  const auto visit = [&](Point point) {
    if (!is_first && point.x != last.x) {
      const int x = point.x < last.x ? point.x : point.x - 1;
      const int column = x / kScale;
      if (x >= 0 && x % kScale == kScale / 2 && column < width) {
        changes.push_back(static_cast<std::uint32_t>(
            column * height + row_of(std::min(point.y, last.y), height)));
      }
    }
    is_first = false;
    last = point;
  };
  for (std::size_t i = 0; i < corners.size(); ++i) {
    walk(corners[i], corners[(i + 1) % corners.size()], visit);
  }
  std::sort(changes.begin(), changes.end());
  changes.push_back(static_cast<std::uint32_t>(height * width));
  std::vector<std::uint32_t> edges;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    if (changes[i] == changes[i + 1]) continue;
    if (!edges.empty() && edges.back() == changes[i]) {
      edges.back() = changes[i + 1];
    } else {
      edges.push_back(changes[i]);
      edges.push_back(changes[i + 1]);
    }
  }
  return edges;
}

}  // namespace tally::internal::detection
