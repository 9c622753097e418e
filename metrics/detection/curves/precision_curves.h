#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/detection/curves/distinct_rows.h"

namespace tally::internal::detection {

/// Where curves are read.
struct CurveRules {
  std::vector<double> recalls;
  std::vector<std::int64_t> max_detections;
  bool with_scores = false;
};

/// COCO's arrays, float64 with K classes; -1 for those without objects.
struct PrecisionCurves {
  at::Tensor precision;  ///< [thresholds, recalls, K, areas, max_detections]
  at::Tensor recall;     ///< [thresholds, K, areas, max_detections]
  at::Tensor scores;     ///< like precision, if wanted
};

/// The curves of `classes`, whose rows are put in order.
PrecisionCurves precision_curves(const DistinctRows& rows,
                                 std::vector<ClassRows>& classes,
                                 const CurveRules& rules);

}  // namespace tally::internal::detection
