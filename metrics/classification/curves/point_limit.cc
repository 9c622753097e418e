#include "tally/metrics/classification/curves/point_limit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tally::internal::classification {
namespace {

std::vector<std::size_t> all(std::size_t size) {
  std::vector<std::size_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

// Of rates that are undefined: they do not change.
double span(double from, double to) {
  const double distance = std::abs(to - from);
  return std::isnan(distance) ? 0 : distance;
}

// The least and the greatest of values, and where they are.
struct Extent {
  double low;
  double high;
  std::size_t lowest;
  std::size_t highest;

  Extent(double value, std::size_t number)
      : low(value), high(value), lowest(number), highest(number) {}
  void add(double value, std::size_t number) {
    if (value < low) {
      low = value;
      lowest = number;
    }
    if (value > high) {
      high = value;
      highest = number;
    }
  }
};

}  // namespace

// All points between two that are kept are in the rectangle of which these are
// opposite corners, of width a and height b. None in it is further from the
// diagonal, in the axis in which it is further, than a * b / (a + b), as are
// the other two corners. Where the next point would exceed 1 / limit, the
// width and height to the kept one after it add up to more than 4 / limit; all
// of them to 2 at most.
std::vector<std::size_t> kept_of_rising(std::size_t size, std::int64_t limit,
                                        PointAt at) {
  if (size < 3) return all(size);
  const double tolerance = 1 / static_cast<double>(limit);
  std::vector<std::size_t> kept{0};
  auto [x, y] = at(0);
  for (std::size_t i = 2; i < size; ++i) {
    const auto [next_x, next_y] = at(i);
    const double a = span(x, next_x);
    const double b = span(y, next_y);
    if (a * b <= tolerance * (a + b)) continue;
    kept.push_back(i - 1);
    std::tie(x, y) = at(i - 1);
  }
  kept.push_back(size - 1);
  return kept;
}

// Of points that differ little in y, those at the ends stay; of points that
// differ little in x, the lowest and the highest. Where the next point would
// differ in both, it is further than 1 / limit in x from the first.
std::vector<std::size_t> kept_of_any(std::size_t size, std::int64_t limit,
                                     PointAt at) {
  if (size < 3) return all(size);
  const double tolerance = 1 / static_cast<double>(limit);
  std::vector<std::size_t> kept{0};
  const auto keep = [&](std::size_t number) {
    if (kept.back() < number) kept.push_back(number);
  };
  for (std::size_t i = 0; i < size;) {
    const auto [first_x, first_y] = at(i);
    const std::size_t begin = i;
    Extent ys(first_y, i);
    for (++i; i < size; ++i) {
      const auto [x, y] = at(i);
      if (std::isnan(y) != std::isnan(first_y)) break;
      Extent more = ys;
      more.add(y, i);
      if (span(first_x, x) > tolerance && more.high - more.low > tolerance) {
        break;
      }
      ys = more;
    }
    const bool is_flat = !(ys.high - ys.low > tolerance);
    keep(is_flat ? begin : std::min(ys.lowest, ys.highest));
    keep(is_flat ? i - 1 : std::max(ys.lowest, ys.highest));
  }
  keep(size - 1);
  return kept;
}

std::vector<double> selected(const std::vector<double>& values,
                             const std::vector<std::size_t>& numbers) {
  std::vector<double> chosen;
  chosen.reserve(numbers.size());
  for (const std::size_t number : numbers) chosen.push_back(values[number]);
  return chosen;
}

}  // namespace tally::internal::classification
