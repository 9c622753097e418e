#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/nominal/states/categories.h"
#include "tally/metrics/tables/contingency.h"
#include "tally/state/fields.h"

namespace tally {

/// Counts the pairs of categories of every two columns of a data set: the
/// observer of matrices of association, which share it in a collection if
/// they treat missing values alike.
///
/// update(data): whole numbers [N, V] of any real dtype, any of them, or texts.
/// NaN: a missing value, see CategoryOptions::nan_strategy; it is dropped from
/// the pairs of its column only.
/// Errors: c10::ValueError for other shapes, for V that changes, for fractions,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// data.
class ColumnPairs {
 public:
  static constexpr const char* kName = "ColumnPairs";
  static constexpr InputInfo kInputs[] = {
      {"data", InputKind::kCategories, "categories [N, V], as texts too"}};
  /// Merged by concatenation; equal cells are added up when they have become
  /// many. On the data's device; pairs are counted on the CPU.
  struct State {
    /// int64 [K, 4]: i * V + j of columns i < j, a category of each, and how
    /// often. A cell may occur more than once.
    Rows cells;
    /// int64 [V]: how many values of each column there are.
    at::Tensor present;
    /// How many cells were left when they were last added up.
    std::int64_t distinct = 0;

    void fields(Fields& f) {
      f("cells", cells)("present", present);
      f("distinct", distinct, Merge::kMax);
    }
    void compact();
  };

  template <class Options>
  ColumnPairs(const Options& options, const MetricOptions& metric_options)
      : rules_(options, metric_options) {}

  State observe(const Keys& data) const;

 private:
  internal::nominal::MissingRules rules_;
};

namespace internal::nominal {

/// The table of two columns, the rows being categories of i.
struct ColumnTable {
  std::int64_t i, j;
  tables::Contingency table;
};
/// Of all that have a pair. c10::ValueError for a state that is none.
std::vector<ColumnTable> column_tables(const ColumnPairs::State& state);

/// [V, V] of NaN, in float64, with 1 on the diagonal; [0, 0] before any update.
at::Tensor blank_matrix(const ColumnPairs::State& state);
/// With rows and columns exchanged.
tables::Contingency transposed(const tables::Contingency& table);

/// `value_of(table)` at (i, j) of columns i < j, and that of the table with
/// rows and columns exchanged at (j, i); 1 on the diagonal, NaN where two
/// columns have no pair. [V, V] in float64.
template <class ValueOf>
at::Tensor association_matrix(const ColumnPairs::State& state,
                              const ValueOf& value_of) {
  at::Tensor matrix = blank_matrix(state);
  const std::int64_t columns = matrix.size(0);
  auto* const values = matrix.mutable_data_ptr<double>();
  for (const ColumnTable& pair : column_tables(state)) {
    values[pair.i * columns + pair.j] = value_of(pair.table);
    values[pair.j * columns + pair.i] = value_of(transposed(pair.table));
  }
  return matrix;
}

}  // namespace internal::nominal
}  // namespace tally
