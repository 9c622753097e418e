#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/classification/curves/score_counts.h"
#include "tally/metrics/classification/curves/score_runs.h"

/// The runs of a CurveState.
namespace tally::internal::classification {

/// Makes runs of an exact curve's rows if they are many, or, beside runs,
/// `of_all_rows`.
void make_runs(CurveState& state, bool of_all_rows);

/// Whether exact curves are read from runs: there are some, or so many rows
/// that there would be.
bool reads_runs(const CurveView& view);

/// A state's samples as runs, and rows with weights beside them. The state must
/// outlive it. REQUIRES: reads_runs(). Throws c10::ValueError for an invalid
/// state.
class CurveRuns {
 public:
  explicit CurveRuns(const CurveView& view);

  /// Of one curve, or of all together; none if a score is NaN.
  std::optional<ScoreCounts> counts(std::int64_t curve) const;
  std::optional<ScoreCounts> pooled() const;
  /// The samples without weights of curves begin to end - 1.
  std::optional<RunScores> unweighted(std::int64_t begin,
                                      std::int64_t end) const;

 private:
  std::optional<ScoreCounts> counts_of(std::int64_t begin,
                                       std::int64_t end) const;
  std::optional<ScoreCounts> weighted_counts(const RunScores& scores,
                                             std::int64_t begin,
                                             std::int64_t end) const;

  const CurveView& view_;
  // Those of the state, and of the rows beside them.
  std::vector<at::Tensor> bytes_;
  std::vector<ScoreRun> runs_;
};

}  // namespace tally::internal::classification
