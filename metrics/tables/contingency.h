#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/tables/pair_counts.h"

namespace tally::internal::tables {

/// A table of counts by the places of labels: those of rows and of columns that
/// occur are 0, 1, and so on, in ascending order.
struct Contingency {
  struct Cell {
    std::uint32_t row, column;
    std::int64_t count;
  };

  std::vector<std::int64_t> rows, columns;  // their sums, at least 1
  std::vector<Cell> cells;                  // by row, then by column
  std::int64_t total = 0;

  /// Whether each row has one cell only: it decides its column.
  bool rows_decide() const { return cells.size() == rows.size(); }
  bool columns_decide() const { return cells.size() == columns.size(); }
};

/// Of the state of any rank or file: c10::ValueError for what is no table.
Contingency contingency_of(const PairCounts& counts);
/// Of cells [K, 3].
Contingency contingency_of(const at::Tensor& cells);

}  // namespace tally::internal::tables
