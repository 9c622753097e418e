#include "tally/plots/calibration_bins.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tally::internal {
namespace {

constexpr double kZ = 1.959963984540054;  // of 95 %

/// Wilson's interval of k successes of n.
CalibrationBin bin_of(double sum, double k, double n) {
  const double p = k / n, z2 = kZ * kZ;
  const double center = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {sum / n, p, std::max(0.0, center - half),
          std::min(1.0, center + half), n};
}

}  // namespace

std::vector<CalibrationBin> calibration_bins(const std::vector<double>& preds,
                                             const std::vector<double>& target,
                                             std::int64_t count) {
  std::vector<std::size_t> order(preds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return preds[a] < preds[b]; });
  std::vector<CalibrationBin> bins;
  std::size_t begin = 0;
  for (std::int64_t bin = 1; bin <= count; ++bin) {
    std::size_t end = order.size() * static_cast<std::size_t>(bin) /
                      static_cast<std::size_t>(count);
    // Equal predictions share a bin, or it would depend on their order.
    while (end > begin && end < order.size() &&
           preds[order[end]] == preds[order[end - 1]]) {
      ++end;
    }
    if (end <= begin) continue;
    double sum = 0, positives = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += preds[order[i]];
      positives += target[order[i]];
    }
    bins.push_back(bin_of(sum, positives, static_cast<double>(end - begin)));
    begin = end;
  }
  return bins;
}

}  // namespace tally::internal
