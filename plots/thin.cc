#include "tally/plots/thin.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tally::internal {
namespace {

double distance(const PlotPoint& p, const PlotPoint& a, const PlotPoint& b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double along =
      square == 0 ? 0 : ((p.x - a.x) * dx + (p.y - a.y) * dy) / square;
  const double t = std::clamp(along, 0.0, 1.0);
  const double x = p.x - a.x - t * dx, y = p.y - a.y - t * dy;
  // Pixels do not overflow, and hypot would need glibc 2.35 of the wheel.
  return std::sqrt(x * x + y * y);
}

}  // namespace

std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points,
                               double tolerance) {
  if (points.size() < 3) return points;
  std::vector<bool> stays(points.size());
  stays.front() = stays.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, points.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double furthest = tolerance;
    std::size_t found = first;
    for (std::size_t i = first + 1; i < last; ++i) {
      const double far = distance(points[i], points[first], points[last]);
      if (far > furthest) {
        furthest = far;
        found = i;
      }
    }
    if (found == first) continue;
    stays[found] = true;
    open.emplace_back(first, found);
    open.emplace_back(found, last);
  }
  std::vector<PlotPoint> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (stays[i]) kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace tally::internal
