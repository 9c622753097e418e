#include "tally/metrics/nominal/states/categories.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/nominal/states/category_pairs.h"
#include "tally/metrics/nominal/states/column_pairs.h"
#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/label_range.h"
#include "tally/metrics/tables/pair_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::nominal {
namespace {

// Whether static_cast to int64 keeps the value.
bool is_label(double value) {
  return value == std::trunc(value) && value >= -0x1p63 && value < 0x1p63;
}

struct MarkedLabels {
  at::Tensor labels;
  std::vector<std::uint8_t> is_missing;
  bool any_missing = false;

  void miss(std::int64_t i) {
    is_missing[i] = 1;
    any_missing = true;
  }
};

MarkedLabels blank(std::int64_t size) {
  return {fresh_zeros({size}, at::kLong),
          std::vector<std::uint8_t>(static_cast<std::size_t>(size))};
}

MarkedLabels labels_of_numbers(const char* input, const at::Tensor& values) {
  if (!at::isFloatingType(values.scalar_type())) {
    return {values.to(at::kLong), {}};
  }
  MarkedLabels marked = blank(values.numel());
  const at::Tensor wide = values.to(at::kDouble);
  const auto* const value = wide.const_data_ptr<double>();
  auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (std::isnan(value[i])) {
      marked.miss(i);
      continue;
    }
    TORCH_CHECK_VALUE(is_label(value[i]),
                      "expected whole numbers as categories in ", input,
                      ", got ", value[i], " at position ", i);
    label[i] = static_cast<std::int64_t>(value[i]);
  }
  return marked;
}

MarkedLabels labels_of_scores(const at::Tensor& scores) {
  const at::Tensor wide = scores.to(at::kDouble);
  MarkedLabels marked = blank(wide.size(0));
  const std::int64_t classes = wide.size(1);
  auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
  const auto* row = wide.const_data_ptr<double>();
  for (std::int64_t i = 0; i < wide.size(0); ++i, row += classes) {
    if (std::any_of(row, row + classes,
                    [](double score) { return std::isnan(score); })) {
      marked.miss(i);
    } else {
      label[i] = std::max_element(row, row + classes) - row;
    }
  }
  return marked;
}

void check_not_missing_label(const char* input, const at::Tensor& labels) {
  const auto* const begin = labels.const_data_ptr<std::int64_t>();
  const auto* const end = begin + labels.numel();
  TORCH_CHECK_VALUE(std::find(begin, end, kMissing) == end,
                    "expected categories above -2^63 in ", input,
                    ", which stands for missing values, got it");
}

}  // namespace

void check_replace_value(const char* metric, double value) {
  TORCH_CHECK_VALUE(is_label(value), metric,
                    ": expected a whole number as nan_replace_value, got ",
                    value);
}

Categories categories_of(const char* input, const at::Tensor& values,
                         const MissingRules& rules,
                         std::optional<std::int64_t> num_classes) {
  check_real(input, values);
  TORCH_CHECK_VALUE(
      values.dim() == 1 || (values.dim() == 2 && values.size(1) > 0),
      "expected ", input, " of shape [N] or [N, C], got ", values.sizes());
  const at::Tensor plain = values.detach().to(at::kCPU).contiguous();
  MarkedLabels marked = plain.dim() == 1 ? labels_of_numbers(input, plain)
                                         : labels_of_scores(plain);
  TORCH_CHECK_VALUE(!marked.any_missing || rules.policy != NanPolicy::kError,
                    "expected ", input, " without NaN, got some");
  const bool replaces = rules.policy == NanPolicy::kPropagate &&
                        rules.strategy != NominalNanStrategy::kDrop;
  const bool own = replaces && rules.strategy == NominalNanStrategy::kCategory;
  if (own) check_not_missing_label(input, marked.labels);
  const auto put = [&](std::int64_t category) {
    auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < marked.is_missing.size(); ++i) {
      if (marked.is_missing[i] != 0) label[i] = category;
    }
  };
  if (marked.any_missing && replaces && !own) put(rules.replace_value);
  tables::check_label_range(input, marked.labels, num_classes);
  if (marked.any_missing && own) put(kMissing);
  Categories result{marked.labels, {}};
  if (marked.any_missing && !replaces) {
    result.is_dropped = std::move(marked.is_missing);
  }
  return result;
}

at::Tensor count_categories(const Categories& a, const Categories& b) {
  if (a.is_dropped.empty() && b.is_dropped.empty()) {
    return tables::count_pairs(a.labels, b.labels);
  }
  std::vector<std::int64_t> kept;
  const auto is_kept = [](const Categories& categories, std::size_t i) {
    return categories.is_dropped.empty() || categories.is_dropped[i] == 0;
  };
  const auto size = static_cast<std::size_t>(a.labels.numel());
  for (std::size_t i = 0; i < size; ++i) {
    if (is_kept(a, i) && is_kept(b, i)) {
      kept.push_back(static_cast<std::int64_t>(i));
    }
  }
  const at::Tensor places = at::tensor(kept, at::kLong);
  return tables::count_pairs(a.labels.index_select(0, places),
                             b.labels.index_select(0, places));
}

}  // namespace internal::nominal

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

CategoryPairs::State CategoryPairs::observe(const Keys& preds,
                                            const Keys& target) const {
  const auto [own, other] = internal::key_pair(preds, target, num_classes_);
  internal::check_same_device("preds", own, "target", other);
  const auto a = nominal::categories_of("preds", own, rules_, num_classes_);
  const auto b = nominal::categories_of("target", other, rules_, num_classes_);
  TORCH_CHECK_VALUE(own.size(0) == other.size(0),
                    "expected as many rows in preds and target, got ",
                    own.sizes(), " and ", other.sizes());
  State state;
  const at::Tensor cells = nominal::count_categories(a, b);
  if (cells.size(0) > 0) state.cells = Rows(cells.to(own.device()));
  return state;
}

State ColumnPairs::observe(const Keys& data) const {
  const at::Tensor& values = data.tensor();
  internal::check_real("data", values);
  TORCH_CHECK_VALUE(values.dim() == 2 && values.size(1) > 0,
                    "expected data of shape [N, V], V at least 1, got ",
                    values.sizes());
  const std::int64_t count = values.size(1);
  const at::Tensor plain = values.detach().to(at::kCPU);
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
  state.present = at::tensor(present, at::kLong).to(values.device());
  if (!cells.empty()) {
    const at::Tensor all = at::cat(cells);
    if (all.size(0) > 0) state.cells = Rows(all.to(values.device()));
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
  at::Tensor matrix = at::full({columns, columns}, internal::kNaN, at::kDouble);
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
