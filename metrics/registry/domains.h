#pragma once

#include "tally/metrics/registry/registry.h"

namespace tally::internal {

// One function for each domain, so that no linker drops a metric.
void add_aggregation(Registry& r);
void add_classification(Registry& r);
void add_curves(Registry& r);
void add_regression(Registry& r);
void add_wrappers(Registry& r);

/// Says of all options what they mean.
void describe_options(Registry& r);

}  // namespace tally::internal
