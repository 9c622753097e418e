#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// Counts of rows by what a row adds to a state of sums.
struct CellTable {
  struct Cell {
    std::int64_t id = 0;
    std::int64_t count = 0;
    /// What one row adds: place in the sums, and how much.
    std::vector<std::pair<std::size_t, double>> adds;
  };
  std::vector<Cell> cells;  // with rows
  std::size_t sums = 0;     // their number
  /// The state of these sums.
  std::function<AnyState(const std::vector<double>&)> state;
  /// Rows that determine the value if all of them agree.
  double deciding = 0;
};

/// What the results of a metric over a table can be.
struct ValueRange {
  double low = 0;
  double high = 1;
};

/// The derivatives of each value by the count of each cell: [cells][values].
std::vector<std::vector<double>> cell_gradients(const Metric& metric,
                                                const CellTable& table,
                                                std::size_t values);
/// The delta method on the logit scale.
std::vector<Bounds> delta_bounds(const Metric& metric, const CellTable& table,
                                 const FlatResult& value, ValueRange range,
                                 double level);
/// From replicates in which cells have Poisson counts.
std::vector<Bounds> poisson_cell_bounds(const Metric& metric,
                                        const CellTable& table,
                                        const FlatResult& value,
                                        const IntervalOptions& options);

}  // namespace tally::internal::intervals
