#include "tally/metrics/segmentation/kernels/percentiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tally::internal::segmentation {
namespace {

constexpr double kRounding = 1e-12;

// No function, so that it is inlined.
constexpr auto kIsLess = [](const Weighted& a, const Weighted& b) {
  return a.value < b.value;
};

}  // namespace

double percentile(std::vector<double> values, double percent) {
  const double place = static_cast<double>(values.size() - 1) * (percent / 100);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double rest = place - std::floor(place);
  if (rest == 0 || below + 1 == values.end()) return *below;
  const double above = *std::min_element(below + 1, values.end());
  return *below + rest * (above - *below);
}

double weighted_percentile(std::vector<Weighted> values, double percent) {
  double total = 0;
  for (const Weighted& v : values) total += v.weight;
  const double wanted = total * (percent / 100) * (1 - kRounding);
  double below = 0;
  auto first = values.begin();
  auto end = values.end();
  while (end - first > 1) {
    const auto middle = first + (end - first) / 2;
    std::nth_element(first, middle, end, kIsLess);
    double here = 0;
    for (auto v = first; v != middle; ++v) here += v->weight;
    if (below + here >= wanted) {
      end = middle;
    } else {
      below += here;
      first = middle;
    }
  }
  return first->value;
}

}  // namespace tally::internal::segmentation
