#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tally/metrics/tables/contingency.h"

/// Entropies of tables, in nats.
namespace tally::internal::tables {

/// log(n) of whole numbers, small ones from a table.
class Logarithms {
 public:
  /// Numbers below `size` are in the table.
  explicit Logarithms(std::int64_t size);
  double operator()(std::int64_t n) const {
    return n < static_cast<std::int64_t>(table_.size())
               ? table_[n]
               : std::log(static_cast<double>(n));
  }

 private:
  std::vector<double> table_;
};

/// Of counts that add up to total: exactly 0 of a single one.
double entropy(const std::vector<std::int64_t>& counts, std::int64_t total);

/// What rows say about columns and columns about rows: 0 or more, exactly 0 of
/// a single row or column.
double mutual_information(const Contingency& table);

}  // namespace tally::internal::tables
