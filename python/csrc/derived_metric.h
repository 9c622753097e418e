#pragma once

#include <memory>

#include "tally/metrics/metric.h"

namespace tally::python {

/// Accumulates the state of `source`, from which that of `value` derives, and
/// has the value of `value`. In a collection metrics derive their state from
/// one beside them; this is for a state that is wanted without its own metric's
/// value. Throws c10::ValueError if the one does not derive from the other.
std::shared_ptr<Metric> derived_metric(std::unique_ptr<Metric> value,
                                       std::unique_ptr<Metric> source);

}  // namespace tally::python
