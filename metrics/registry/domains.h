#pragma once

#include "tally/metrics/registry/registry.h"

/// One function for each domain, so that no linker drops a metric.
namespace tally::internal {

void add_aggregation(Registry& r);
void add_classification(Registry& r);
void add_curves(Registry& r);
void add_regression(Registry& r);
void add_wrappers(Registry& r);

}  // namespace tally::internal
