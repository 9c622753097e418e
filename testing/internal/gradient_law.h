#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/testing/batch.h"
#include "tally/testing/internal/findings.h"

namespace tally::testkit::internal {

struct GradientSubject {
  std::function<std::unique_ptr<Metric>(const MetricOptions&)> make;
  MetricOptions metric_options;
  Batch rows;
  /// The same rows distributed over ranks, one batch each.
  std::vector<std::vector<Batch>> steps;
  std::vector<std::size_t> inputs;  ///< that have a gradient
  bool compare = true;              ///< or only check for graphs
};

/// MetricLaw::kGradients: in float64, checks the gradient of a batch's value
/// numerically, and with dist_sync_on_step over ranks, for every GradientFlow,
/// against the definition of the flow. Values of non-differentiable metrics,
/// and states, must carry no graph.
void check_gradients(const GradientSubject& subject, Findings& findings);

}  // namespace tally::testkit::internal
