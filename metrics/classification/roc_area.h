#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace tally::internal {

/// The area under the ROC curve of `counts` (see ranked_scores.h), with
/// straight lines between the points that tied scores leave. With `max_fpr`,
/// that of its part up to this false positive rate, standardised so that 0.5 is
/// chance and 1 the best (McClish 1989). NaN unless both classes occur.
template <class Counts>
double roc_area(const Counts& counts,
                std::optional<double> max_fpr = std::nullopt) {
  const auto positives = static_cast<double>(counts.positives());
  const auto negatives = static_cast<double>(counts.negatives());
  if (positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double limit = max_fpr.value_or(1) * negatives;
  double tp = 0;
  double fp = 0;
  double area = 0;
  counts.for_each([&](std::int64_t more_tp, std::int64_t more_fp) {
    const auto rise = static_cast<double>(more_tp);
    const auto width = static_cast<double>(more_fp);
    const double inside = std::min(width, limit - fp);
    if (inside > 0) area += inside * (tp + 0.5 * rise * (inside / width));
    tp += rise;
    fp += width;
  });
  area /= positives * negatives;
  if (!max_fpr || *max_fpr == 1) return area;
  const double chance = 0.5 * *max_fpr * *max_fpr;
  return 0.5 * (1 + (area - chance) / (*max_fpr - chance));
}

}  // namespace tally::internal
