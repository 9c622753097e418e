#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/options.h"
#include "tally/metrics/results.h"

namespace tally {

/// What the best threshold of a binary classifier is best by.
enum class ThresholdCriterion {
  kF1,      ///< the largest F1 score, 2 TP / (2 TP + FP + FN)
  kYouden,  ///< the largest J = TPR - FPR
  kCorner,  ///< the smallest distance of the ROC curve from (0, 1)
  kCost,    ///< the smallest cost of false positives and false negatives
};

template <>
struct EnumNames<ThresholdCriterion> {
  static constexpr const char* kNames[] = {"f1", "youden", "corner", "cost"};
};

/// A threshold that was chosen, and the rates of predictions >= threshold.
struct OptimalThreshold {
  at::Tensor threshold;
  at::Tensor criterion;  ///< F1, J, the distance, or the mean cost of a sample
  at::Tensor precision;
  at::Tensor recall;
  at::Tensor specificity;

  void visit(ResultParts& parts) {
    parts("threshold", threshold)("criterion", criterion)(
        "precision", precision)("recall", recall)("specificity", specificity);
  }
};

namespace internal::classification {

/// Throws c10::ValueError unless finite and at least 0.
void check_cost(const char* metric, const char* option, double cost);

struct ThresholdChoice {
  ThresholdCriterion criterion;
  double false_positive_cost;
  double false_negative_cost;
};

/// The best threshold of each curve; 0-dim for a binary one.
OptimalThreshold optimal_thresholds(const CurveView& view,
                                    const ThresholdChoice& choice);

}  // namespace internal::classification
}  // namespace tally
