#pragma once

#include <optional>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {

/// The sums of all cells.
std::vector<double> sums_of(const CellTable& table);
/// The derivatives of each value by the count of each cell: [cells][values].
std::vector<std::vector<double>> cell_gradients(const Metric& metric,
                                                const CellTable& table,
                                                std::size_t values);
/// The delta method on the logit scale.
std::vector<Bounds> delta_bounds(const Metric& metric, const CellTable& table,
                                 const FlatResult& value,
                                 const CellSampling& range, double level);
/// The method of variance estimates recovery for a mean of classes' values
/// (Zou and Donner 2008), whose intervals are Wilson's, with the correlations
/// of the delta method. Nothing if the value is not their mean, or there are
/// very many classes that depend on each other.
std::optional<Bounds> mover_bounds(const CellTable& table, double value,
                                   const RateSampling& averaged, double level);
/// From replicates in which cells have Poisson counts.
std::vector<Bounds> poisson_cell_bounds(const Metric& metric,
                                        const CellTable& table,
                                        const FlatResult& value,
                                        const IntervalOptions& options);

}  // namespace tally::internal::intervals
