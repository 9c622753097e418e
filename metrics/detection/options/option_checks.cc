#include "tally/metrics/detection/options/option_checks.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <functional>

// Thresholds are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

// numpy.linspace(first, last, steps + 1).
std::vector<double> linspace(double first, double last, int steps) {
  const double step = (last - first) / steps;
  std::vector<double> values;
  for (int i = 0; i < steps; ++i) values.push_back(i * step + first);
  values.push_back(last);
  return values;
}

bool ascends(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(),
                            std::greater_equal<double>()) == values.end();
}

}  // namespace

void check_fractions(const char* metric, const char* option,
                     const std::vector<double>& values) {
  const bool are_fractions =
      std::all_of(values.begin(), values.end(),
                  [](double value) { return value >= 0 && value <= 1; });
  TORCH_CHECK_VALUE(are_fractions && ascends(values), metric, ": option '",
                    option, "': expected ascending numbers from 0 to 1, got ",
                    c10::ArrayRef<double>(values));
}

void check_areas(const char* metric, const char* option,
                 const std::vector<double>& areas) {
  TORCH_CHECK_VALUE(areas.size() == 2 && areas.front() >= 0 &&
                        areas.back() <= kMostArea && ascends(areas),
                    metric, ": option '", option,
                    "': expected two ascending areas, got ",
                    c10::ArrayRef<double>(areas));
}

void check_not_empty(const char* metric, const char* option,
                     const std::vector<double>& values) {
  TORCH_CHECK_VALUE(!values.empty(), metric, ": option '", option,
                    "': expected numbers, got none");
}

std::vector<double> overlaps_or_coco(const std::vector<double>& values) {
  return values.empty() ? linspace(0.5, 0.95, 9) : values;
}

std::vector<double> recalls_or_coco(const std::vector<double>& values) {
  return values.empty() ? linspace(0, 1, 100) : values;
}

}  // namespace tally::internal::detection
