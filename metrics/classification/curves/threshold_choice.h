#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/options.h"

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

namespace internal::classification {

/// Throws c10::ValueError unless finite and at least 0.
void check_cost(const char* metric, const char* option, double cost);

struct ThresholdChoice {
  ThresholdCriterion criterion;
  double false_positive_cost;
  double false_negative_cost;
};

/// For each curve, the best threshold, the value of the criterion there, and
/// the rates. 0-dim for a binary curve.
struct ChosenThresholds {
  at::Tensor threshold;
  at::Tensor criterion;
  at::Tensor precision;
  at::Tensor recall;
  at::Tensor specificity;
};
ChosenThresholds chosen_thresholds(const CurveView& view,
                                   const ThresholdChoice& choice);

}  // namespace internal::classification
}  // namespace tally
