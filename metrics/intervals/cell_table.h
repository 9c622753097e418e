#pragma once

#include <vector>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {

/// The derivatives of each value by the count of each cell: [cells][values].
std::vector<std::vector<double>> cell_gradients(const Metric& metric,
                                                const CellTable& table,
                                                std::size_t values);
/// The delta method on the logit scale.
std::vector<Bounds> delta_bounds(const Metric& metric, const CellTable& table,
                                 const FlatResult& value,
                                 const CellSampling& range, double level);
/// From replicates in which cells have Poisson counts.
std::vector<Bounds> poisson_cell_bounds(const Metric& metric,
                                        const CellTable& table,
                                        const FlatResult& value,
                                        const IntervalOptions& options);

}  // namespace tally::internal::intervals
