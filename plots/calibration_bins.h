#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal {

/// Predictions that are close to each other, and how many came true.
struct CalibrationBin {
  double mean = 0;  ///< of the predictions
  double ratio = 0;
  double low = 0;  ///< Wilson's interval of 95 %
  double high = 0;
  double rows = 0;
};

/// `count` bins of about equally many rows; equal predictions share one.
std::vector<CalibrationBin> calibration_bins(const std::vector<double>& preds,
                                             const std::vector<double>& target,
                                             std::int64_t count);

}  // namespace tally::internal
