#include "tally/metrics/tables/information.h"

#include <algorithm>

namespace tally::internal::tables {
namespace {

// Larger tables are no faster than the logarithm itself.
constexpr std::int64_t kLargestTable = 4096;

std::vector<double> logarithms(const std::vector<std::int64_t>& counts) {
  std::vector<double> result;
  result.reserve(counts.size());
  for (const std::int64_t count : counts) {
    result.push_back(std::log(static_cast<double>(count)));
  }
  return result;
}

}  // namespace

Logarithms::Logarithms(std::int64_t size)
    : table_(static_cast<std::size_t>(std::min(size, kLargestTable))) {
  for (std::size_t n = 0; n < table_.size(); ++n) {
    table_[n] = std::log(static_cast<double>(n));
  }
}

double entropy(const std::vector<std::int64_t>& counts, std::int64_t total) {
  if (counts.size() <= 1) return 0;
  const auto all = static_cast<double>(total);
  double sum = 0;
  for (const std::int64_t count : counts) {
    const double fraction = static_cast<double>(count) / all;
    sum -= fraction * std::log(fraction);
  }
  return sum;
}

double mutual_information(const Contingency& table) {
  if (table.rows.size() <= 1 || table.columns.size() <= 1) return 0;
  const auto total = static_cast<double>(table.total);
  const double log_total = std::log(total);
  const std::vector<double> rows = logarithms(table.rows);
  const std::vector<double> columns = logarithms(table.columns);
  const Logarithms log(static_cast<std::int64_t>(table.cells.size()));
  double sum = 0;
  for (const Contingency::Cell& cell : table.cells) {
    sum +=
        static_cast<double>(cell.count) *
        (log(cell.count) + log_total - rows[cell.row] - columns[cell.column]);
  }
  return std::max(sum / total, 0.0);
}

}  // namespace tally::internal::tables
