#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace tally::internal::detection {

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
