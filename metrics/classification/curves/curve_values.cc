#include "tally/metrics/classification/curves/curve_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tally::internal::classification {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double positives_of(const ScoreCounts& counts) {
  return std::visit(
      [](const auto& scores) {
        return static_cast<double>(scores.positives());
      },
      counts);
}

double negatives_of(const ScoreCounts& counts) {
  return std::visit(
      [](const auto& scores) {
        return static_cast<double>(scores.negatives());
      },
      counts);
}

// Calls step(positives, negatives) for each distinct score, highest first.
template <class Counts, class Step>
void for_each_step(const Counts& counts, const Step& step) {
  counts.for_each([&](double, auto positives, auto negatives) {
    step(static_cast<double>(positives), static_cast<double>(negatives));
  });
}
template <class Step>
void for_each_step(const ScoreCounts& counts, const Step& step) {
  std::visit([&](const auto& scores) { for_each_step(scores, step); }, counts);
}

// As RankedScores has them.
template <class Counts>
double pairs_in_order(const Counts& counts) {
  double tp = 0;
  double area = 0;
  for_each_step(counts, [&](double rise, double width) {
    area += width * (tp + 0.5 * rise);
    tp += rise;
  });
  return area;
}
template <class Key>
double pairs_in_order(const RankedScores<Key>& ranked) {
  return ranked.pairs_in_order();
}

template <class Counts>
double sum_of_precisions(const Counts& counts) {
  double tp = 0;
  double fp = 0;
  double sum = 0;
  for_each_step(counts, [&](double rise, double width) {
    tp += rise;
    fp += width;
    sum += rise * (tp / (tp + fp));
  });
  return sum;
}
template <class Key>
double sum_of_precisions(const RankedScores<Key>& ranked) {
  return ranked.sum_of_precisions();
}

}  // namespace

double roc_area(const ScoreCounts& counts, std::optional<double> max_fpr) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  if (!max_fpr || *max_fpr == 1) {
    return std::visit([](const auto& scores) { return pairs_in_order(scores); },
                      counts) /
           (positives * negatives);
  }
  double tp = 0;
  double fp = 0;
  double area = 0;
  const double limit = *max_fpr * negatives;
  for_each_step(counts, [&](double rise, double width) {
    const double inside = std::min(width, limit - fp);
    if (inside > 0) area += inside * (tp + 0.5 * rise * (inside / width));
    tp += rise;
    fp += width;
  });
  area /= positives * negatives;
  const double chance = 0.5 * *max_fpr * *max_fpr;
  return 0.5 * (1 + (area - chance) / (*max_fpr - chance));
}

double log_roc_area(const ScoreCounts& counts, double low_fpr,
                    double high_fpr) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  double tpr = 0;
  double fpr = 0;
  double fp = 0;
  double area = 0;
  for_each_step(counts, [&](double rise, double width) {
    fp += width;
    const double right = fp / negatives;
    const double higher = tpr + rise / positives;
    const double from = std::max(fpr, low_fpr);
    const double to = std::min(right, high_fpr);
    if (from < to) {
      const double slope = (higher - tpr) / (right - fpr);
      area += (tpr - slope * fpr) * std::log(to / from) + slope * (to - from);
    }
    tpr = higher;
    fpr = right;
  });
  return area / std::log(high_fpr / low_fpr);
}

double equal_error_rate(const ScoreCounts& counts) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  double tp = 0;
  double fp = 0;
  double rate = kNaN;
  // How far false positives are ahead of false negatives, times both counts.
  double before = -positives * negatives;
  for_each_step(counts, [&](double rise, double width) {
    const double after =
        (fp + width) * positives - (positives - (tp + rise)) * negatives;
    if (before < 0 && after >= 0) {
      rate = (fp + width * (-before / (after - before))) / negatives;
    }
    before = after;
    tp += rise;
    fp += width;
  });
  return rate;
}

double average_precision(const ScoreCounts& counts) {
  const double positives = positives_of(counts);
  if (positives == 0) return kNaN;
  return std::visit(
             [](const auto& scores) { return sum_of_precisions(scores); },
             counts) /
         positives;
}

}  // namespace tally::internal::classification
