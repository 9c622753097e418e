#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/classification/curves/score_table.h"

/// Runs: rows of scores as a table for each curve. They lie one after another
/// in bytes, each behind a header of int64 with its version, the number of
/// curves and of rows, and for each curve its bytes, negatives, positives and
/// whether a score is NaN.
namespace tally::internal::classification {

struct ExactScores;
template <class Key>
class RankedScores;

/// When rows become runs. Tests take smaller ones.
struct RunLimits {
  /// Rows that stay as they are while there is no run.
  std::int64_t most_rows = std::int64_t{1} << 23;
  /// Rows beside runs, at most; fewer if the runs take less than a byte for
  /// each, but not below the least.
  std::int64_t run_rows = std::int64_t{1} << 22;
  std::int64_t least_rows = std::int64_t{1} << 14;
};
const RunLimits& run_limits();
/// Returns those before. REQUIRES: no other thread uses curves.
RunLimits set_run_limits(const RunLimits& limits);

/// One run in the bytes of several.
struct ScoreRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rows = 0;
  std::vector<ScoreTable> curves;

  std::int64_t size() const { return end - begin; }
};

/// The runs in a state's bytes, which must outlive them; none if undefined.
/// c10::ValueError unless all are runs of the same number of curves. Tables are
/// checked when they are read. REQUIRES: on the CPU.
std::vector<ScoreRun> read_runs(const at::Tensor& bytes);

/// Bytes to which tables are written.
class TableBuffer {
 public:
  TableBuffer() = default;
  /// Starts with a copy of these bytes, with room for more.
  TableBuffer(const at::Tensor& first, std::int64_t more);

  /// Appends the entries of all tables and of some sorted scores, if given, as
  /// one table. c10::ValueError for bytes that are no table.
  TableTotals append(const std::vector<ScoreTable>& tables,
                     const RankedScores<std::uint32_t>* scores = nullptr);
  /// Appends a run of others and of rows of float32, if given.
  void append_run(c10::ArrayRef<ScoreRun> runs, const ExactScores* rows);
  /// What was written.
  at::Tensor bytes() const;

 private:
  void reserve(std::int64_t more);

  at::Tensor buffer_;
  std::int64_t size_ = 0;
};

/// Appends runs of rows, of about run_rows each, to the bytes of others, and
/// merges those at the end with runs that are not much larger. All are one if
/// they are many.
at::Tensor with_rows(const at::Tensor& bytes, const ExactScores& rows);
/// The same without rows.
at::Tensor with_few_runs(const at::Tensor& bytes);

}  // namespace tally::internal::classification
