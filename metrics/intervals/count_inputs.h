#pragma once

#include <cstdint>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric.h"

namespace tally::internal::intervals {

/// Throws c10::ValueError unless the target has at most `dims` dimensions, so
/// that a row is one sample, and there is no weight. REQUIRES: inputs are
/// preds, target, and optionally weight.
void check_counted(const Metric& metric, Inputs inputs, std::int64_t dims);

/// Calls f with the metric as one of the types; returns whether it is.
template <class... Types, class F>
bool visit_metric(const Metric& metric, const F& f) {
  bool found = false;
  const auto visit_one = [&](const auto* one) {
    if (one != nullptr) {
      f(*one);
      found = true;
    }
  };
  (visit_one(found ? nullptr : dynamic_cast<const Types*>(&metric)), ...);
  return found;
}

}  // namespace tally::internal::intervals
