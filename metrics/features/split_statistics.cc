#include "tally/metrics/features/split_statistics.h"

#include <cmath>

#include "tally/state/number.h"

namespace tally {

SplitStatistics internal::features::statistics_of(
    const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) {
    squares += (value - mean) * (value - mean) / count;
  }
  if (values.empty()) mean = squares = std::nan("");
  return {internal::scalar_tensor(mean),
          internal::scalar_tensor(std::sqrt(squares))};
}

}  // namespace tally
