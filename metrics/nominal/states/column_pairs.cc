#include "tally/metrics/nominal/states/column_pairs.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <limits>
#include <utility>

#include "tally/metrics/checks.h"
#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/pair_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace nominal = internal::nominal;
namespace tables = internal::tables;

namespace {

using State = ColumnPairs::State;

// The cells of a pair of columns, [K, 3], each once and in order.
struct PairCells {
  std::int64_t pair;
  at::Tensor cells;
};

at::Tensor with_pair(std::int64_t pair, const at::Tensor& cells) {
  return at::cat({at::full({cells.size(0), 1}, pair, cells.options()), cells},
                 /*dim=*/1);
}

std::vector<PairCells> cells_by_pair(const at::Tensor& cells) {
  const at::Tensor plain = cells.to(at::kCPU).contiguous();
  TORCH_CHECK_VALUE(plain.dim() == 2 && plain.size(1) == 4 &&
                        plain.scalar_type() == at::kLong,
                    "expected cells of int64 [K, 4] in the state, got ",
                    plain.scalar_type(), " ", plain.sizes());
  const tables::LabelPlaces pairs = tables::label_places(
      plain.const_data_ptr<std::int64_t>(), plain.size(0), /*stride=*/4);
  const tables::PlaceOrder by_pair = tables::order_by_place(pairs);
  std::vector<PairCells> result;
  for (std::size_t i = 0; i < pairs.labels.size(); ++i) {
    const at::Tensor places =
        at::tensor(std::vector<std::int64_t>(
                       by_pair.order.begin() + by_pair.begins[i],
                       by_pair.order.begin() + by_pair.begins[i + 1]),
                   at::kLong);
    result.push_back(
        {pairs.labels[i],
         tables::added_up(plain.index_select(0, places).narrow(1, 1, 3))});
  }
  return result;
}

std::int64_t columns_of(const State& state) {
  if (!state.present.defined()) return 0;
  TORCH_CHECK_VALUE(state.present.dim() == 1,
                    "expected counts of values [V] in the state, got ",
                    state.present.sizes());
  return state.present.size(0);
}

std::int64_t present_in(const nominal::Categories& column) {
  std::int64_t dropped = 0;
  for (const std::uint8_t is_dropped : column.is_dropped) dropped += is_dropped;
  return column.labels.numel() - dropped;
}

}  // namespace

State ColumnPairs::observe(const at::Tensor& data) const {
  internal::check_real("data", data);
  TORCH_CHECK_VALUE(data.dim() == 2 && data.size(1) > 0,
                    "expected data of shape [N, V], V at least 1, got ",
                    data.sizes());
  const std::int64_t count = data.size(1);
  const at::Tensor plain = data.detach().to(at::kCPU);
  std::vector<nominal::Categories> columns;
  std::vector<std::int64_t> present;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = c10::str("column ", i, " of data");
    columns.push_back(nominal::categories_of(name.c_str(), plain.select(1, i),
                                             rules_, std::nullopt));
    present.push_back(present_in(columns.back()));
  }
  std::vector<at::Tensor> cells;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = i + 1; j < count; ++j) {
      cells.push_back(with_pair(
          i * count + j, nominal::count_categories(columns[i], columns[j])));
    }
  }
  State state;
  state.present = at::tensor(present, at::kLong).to(data.device());
  if (!cells.empty()) {
    const at::Tensor all = at::cat(cells);
    if (all.size(0) > 0) state.cells = Rows(all.to(data.device()));
  }
  return state;
}

void State::compact() {
  if (!tables::are_many(cells.size(), distinct)) return;
  const at::Tensor before = cells.tensor();
  std::vector<at::Tensor> sums;
  for (const PairCells& pair : cells_by_pair(before)) {
    sums.push_back(with_pair(pair.pair, pair.cells));
  }
  const at::Tensor all = at::cat(sums);
  distinct = all.size(0);
  if (distinct < before.size(0)) cells = Rows(all.to(before.device()));
}

std::vector<nominal::ColumnTable> nominal::column_tables(const State& state) {
  const std::int64_t columns = columns_of(state);
  std::vector<ColumnTable> result;
  if (state.cells.size() == 0) return result;
  for (const PairCells& pair : cells_by_pair(state.cells.tensor())) {
    const std::int64_t i = columns == 0 ? 0 : pair.pair / columns;
    const std::int64_t j = columns == 0 ? 0 : pair.pair % columns;
    TORCH_CHECK_VALUE(pair.pair >= 0 && i < j && i < columns,
                      "expected pairs of ", columns,
                      " columns in the state, got ", pair.pair);
    result.push_back({i, j, tables::contingency_of(pair.cells)});
  }
  return result;
}

at::Tensor nominal::blank_matrix(const State& state) {
  const std::int64_t columns = columns_of(state);
  at::Tensor matrix =
      at::full({columns, columns}, std::numeric_limits<double>::quiet_NaN(),
               at::kDouble);
  matrix.diagonal().fill_(1);
  return matrix;
}

tables::Contingency nominal::transposed(const tables::Contingency& table) {
  tables::Contingency result = table;
  std::swap(result.rows, result.columns);
  for (auto& cell : result.cells) std::swap(cell.row, cell.column);
  return result;
}

}  // namespace tally
