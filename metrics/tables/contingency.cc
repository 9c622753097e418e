#include "tally/metrics/tables/contingency.h"

#include <algorithm>

#include "tally/metrics/tables/information.h"
#include "tally/metrics/tables/label_places.h"

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

Contingency contingency_of(const PairCounts& counts) {
  return counts.cells.size() == 0 ? Contingency()
                                  : contingency_of(counts.cells.tensor());
}

Contingency contingency_of(const at::Tensor& cells) {
  const at::Tensor sums = added_up(cells);
  const std::int64_t count = sums.size(0);
  const auto* const values = sums.const_data_ptr<std::int64_t>();
  const LabelPlaces columns = label_places(values + 1, count, 3);
  Contingency table;
  table.columns.resize(columns.labels.size());
  table.cells.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t* const cell = values + 3 * i;
    if (i == 0 || cell[0] != cell[-3]) table.rows.push_back(0);
    const std::uint32_t column = columns.places[i];
    table.cells.push_back(
        {static_cast<std::uint32_t>(table.rows.size() - 1), column, cell[2]});
    table.rows.back() += cell[2];
    table.columns[column] += cell[2];
    table.total += cell[2];
  }
  return table;
}

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
