#pragma once

#include <vector>

namespace tally::internal::segmentation {

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
