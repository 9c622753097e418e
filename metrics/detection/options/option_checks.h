#pragma once

#include <vector>

namespace tally::internal::detection {

/// c10::ValueError unless `values` ascend from 0 at least to 1 at most.
void check_fractions(const char* metric, const char* option,
                     const std::vector<double>& values);
/// c10::ValueError unless there are two ascending areas.
void check_areas(const char* metric, const char* option,
                 const std::vector<double>& areas);
void check_not_empty(const char* metric, const char* option,
                     const std::vector<double>& values);

/// COCO's largest area, of an image of 100 000 x 100 000.
inline constexpr double kMostArea = 1e10;
/// numpy.linspace(0.5, 0.95, 10) unless there are `values`.
std::vector<double> overlaps_or_coco(const std::vector<double>& values);
/// numpy.linspace(0, 1, 101) unless there are `values`.
std::vector<double> recalls_or_coco(const std::vector<double>& values);

}  // namespace tally::internal::detection
