#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/curve_counts.h"

namespace tally::internal {

/// What a threshold is judged by.
enum class Rate { kPrecision, kRecall, kSpecificity };

/// For each curve the best `wanted` rate among the thresholds at which the
/// `held` one is at least `least`, and the threshold.
struct BestThresholds {
  at::Tensor rate;
  at::Tensor threshold;
};
BestThresholds best_thresholds(const CurveView& view, Rate wanted, Rate held,
                               double least);

}  // namespace tally::internal
