#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/classification/curves/score_table.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/progress.h"

namespace tally::internal::classification {

/// For numbers of pairs.
__extension__ using WideCount = unsigned __int128;

/// Samples without weights in sorted tables, in a form of ScoreCounts: they are
/// merged each time they are visited. Visiting throws c10::ValueError for bytes
/// that are no table.
class RunScores {
 public:
  /// Of one curve, in tables within these tensors. Empty if a score is NaN.
  static std::optional<RunScores> of(std::vector<ScoreTable> tables,
                                     std::vector<at::Tensor> bytes);

  /// From here on a visit reports the scores that it has passed.
  void report_scores() { reports_scores_ = true; }

  std::int64_t negatives() const { return totals_.negatives; }
  std::int64_t positives() const { return totals_.positives; }

  template <class Visit>
  void for_each(Visit visit) const {
    for_each_entries([&](const ScoreEntries& block) {
      for (std::int64_t i = 0; i < block.size; ++i) {
        visit(from_ordered_bits(~block.keys[i]), block.positives[i],
              block.negatives[i]);
      }
    });
  }

  /// See RankedScores.
  double pairs_in_order() const;
  double sum_of_precisions() const;

 private:
  RunScores() = default;

  // use(block) for each block of the merged tables.
  template <class Use>
  void for_each_entries(const Use& use) const {
    std::int64_t done = 0;
    for_each_block(merged(tables_), [&](const ScoreEntries& block) {
      use(block);
      if (!reports_scores_) return;
      for (std::int64_t i = 0; i < block.size; ++i) {
        done += block.positives[i] + block.negatives[i];
      }
      report_progress("scores", done, totals_.positives + totals_.negatives);
    });
  }

  std::vector<ScoreTable> tables_;
  std::vector<at::Tensor> bytes_;
  TableTotals totals_;
  bool reports_scores_ = false;
};

}  // namespace tally::internal::classification
