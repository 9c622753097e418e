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
  /// The same rows dealt to ranks, one batch for each.
  std::vector<std::vector<Batch>> steps;
  std::vector<std::size_t> inputs;  ///< that have a gradient
  bool compare = true;              ///< or only see who has a graph
};

/// MetricLaw::kGradients: in float64, the gradient of a batch's
/// value numerically, and with dist_sync_on_step on ranks, for every
/// GradientFlow, as the flow says. Values of metrics that are not
/// differentiable, and states, carry no graph.
void check_gradients(const GradientSubject& subject, Findings& findings);

}  // namespace tally::testkit::internal
