#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/state/fields.h"

namespace tally {

/// How often each pair of labels occurs: a contingency table of which only the
/// cells that are not 0 take memory. Merged by concatenation; equal cells are
/// added up when they have become many.
struct PairCounts {
  /// int64 [K, 3]: the label of a row, that of a column, and the count. A cell
  /// may occur more than once.
  Rows cells;
  /// How many were left when they were last added up.
  std::int64_t distinct = 0;

  void fields(Fields& f) {
    f("cells", cells)("distinct", distinct, Merge::kMax);
  }
  void compact();
};

namespace internal::tables {

/// The pairs (rows[i], columns[i]), as cells in ascending order, each once.
/// REQUIRES: int64 [N], contiguous, on the CPU.
at::Tensor count_pairs(const at::Tensor& rows, const at::Tensor& columns);

/// Cells that may occur more than once and in any order, as above.
/// c10::ValueError for what is no table: other shapes or dtypes, counts below
/// 1, or sums beyond int64.
at::Tensor added_up(const at::Tensor& cells);

/// As many cells are worth adding up if so many were left last time.
bool are_many(std::int64_t cells, std::int64_t distinct);

}  // namespace internal::tables
}  // namespace tally
