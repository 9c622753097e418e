#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Which entries of COCO's arrays a mean is over; empty: all.
struct CurveSelection {
  std::optional<std::size_t> threshold = {};
  std::optional<std::vector<std::size_t>> classes = {};
  std::size_t area = 0;
  std::size_t depth = 0;  ///< place among max_detections
};

/// The mean of the entries of an array [..., K, areas, max_detections] whose
/// first dimension is that of thresholds, without those of -1; -1 if none is
/// left.
double mean_of(const at::Tensor& array, const CurveSelection& selection);

}  // namespace tally::internal::detection
