#include "tally/metrics/classification/curves/threshold_choice.h"

#include <c10/util/Exception.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_table.h"
#include "tally/metrics/common/constants.h"

namespace tally::internal::classification {
namespace {

// What is compared is larger for better thresholds, and computed from whole
// numbers without rounding where it can be: thresholds that are equally good
// must compare equal.
class Criterion {
 public:
  Criterion(const ThresholdChoice& choice, const CurvePoints& points)
      : choice_(choice), p_(points.positives), n_(points.negatives) {}

  double compared(double tp, double fp) const {
    switch (choice_.criterion) {
      case ThresholdCriterion::kF1:
        return value(tp, fp);
      case ThresholdCriterion::kYouden:
        return tp * n_ - fp * p_;
      case ThresholdCriterion::kCorner: {
        const double missed = (p_ - tp) * n_;
        const double raised = fp * p_;
        return -(missed * missed + raised * raised);
      }
      case ThresholdCriterion::kCost:
        return -cost(tp, fp);
    }
    return kNaN;
  }

  double value(double tp, double fp) const {
    switch (choice_.criterion) {
      case ThresholdCriterion::kF1:
        return p_ > 0 ? 2 * tp / (tp + fp + p_) : kNaN;
      case ThresholdCriterion::kYouden:
        return tp / p_ - fp / n_;
      case ThresholdCriterion::kCorner: {
        const double missed = (p_ - tp) / p_;
        const double raised = fp / n_;
        return std::sqrt(missed * missed + raised * raised);
      }
      case ThresholdCriterion::kCost:
        return cost(tp, fp) / (p_ + n_);
    }
    return kNaN;
  }

 private:
  double cost(double tp, double fp) const {
    return choice_.false_positive_cost * fp +
           choice_.false_negative_cost * (p_ - tp);
  }

  ThresholdChoice choice_;
  double p_;
  double n_;
};

// In the order of OptimalThreshold.
using Choice = std::array<double, 5>;

Choice choice_of(const CurvePoints& points, const ThresholdChoice& choice) {
  const Criterion criterion(choice, points);
  const double p = points.positives;
  const double n = points.negatives;
  if (std::isnan(criterion.value(0, 0))) return {kNaN, kNaN, kNaN, kNaN, kNaN};
  double threshold = kInfinity;
  double tp = 0;
  double fp = 0;
  double best = criterion.compared(tp, fp);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double other = criterion.compared(points.tp[i], points.fp[i]);
    const bool is_better =
        other > best || (other == best && points.thresholds[i] > threshold);
    if (!is_better) continue;
    best = other;
    threshold = points.thresholds[i];
    tp = points.tp[i];
    fp = points.fp[i];
  }
  return {threshold, criterion.value(tp, fp), tp / (tp + fp), tp / p,
          (n - fp) / n};
}

}  // namespace

void check_cost(const char* metric, const char* option, double cost) {
  TORCH_CHECK_VALUE(cost >= 0 && std::isfinite(cost), metric, ": expected ",
                    option, " to be finite and at least 0, got ", cost);
}

OptimalThreshold optimal_thresholds(const CurveView& view,
                                    const ThresholdChoice& choice) {
  std::array<std::vector<double>, 5> parts;
  for (const CurvePoints& points : all_points(view, Average::kNone)) {
    const Choice chosen = choice_of(points, choice);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].push_back(chosen[i]);
    }
  }
  const auto part = [&](std::size_t i) { return per_curve(view, parts[i]); };
  return {part(0), part(1), part(2), part(3), part(4)};
}

}  // namespace tally::internal::classification
