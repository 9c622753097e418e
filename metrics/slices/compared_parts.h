#pragma once

#include <vector>

#include "tally/metrics/metric.h"
#include "tally/metrics/sampling.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/slice_units.h"

namespace tally::internal::slices {

/// What a comparison knows of its metric.
struct ComparedMetric {
  const Metric& metric;
  const MetricSampling& sampling;
  bool higher_is_better = true;
  UnitKind kind = UnitKind::kRows;
};

/// The slices that there are enough rows of, compared with all others, the
/// worst first.
std::vector<ComparedSlice> compare_parts(const std::vector<SlicePart>& parts,
                                         const ComparedMetric& of,
                                         const SliceComparisonOptions& options);

}  // namespace tally::internal::slices
