#include "tally/metrics/tables/contingency.h"

#include "tally/metrics/tables/label_places.h"

namespace tally::internal::tables {

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

}  // namespace tally::internal::tables
