#pragma once

#include <string>
#include <vector>

#include "tally/testing/batch.h"

namespace tally::testkit::internal {

/// Batches distributed over ranks: `ranks[r]` are those of rank r.
struct Split {
  std::string name;
  std::vector<std::vector<Batch>> ranks;
};

struct SplitOptions {
  bool cut_rows = true;       ///< whether batches may be joined and split
  bool empty_batches = true;  ///< whether ranks may get batches without rows
  bool in_turn = true;        ///< whether the order of the rows may change
};

/// Even and uneven splits, all data on one rank, an idle first rank and an idle
/// last one, and (if allowed) empty batches and rows distributed round-robin.
std::vector<Split> splits_of(const std::vector<Batch>& batches, int ranks,
                             const SplitOptions& options);

/// One batch per rank: uneven ones, and one without rows if allowed.
std::vector<Batch> step_of(const Batch& rows, int ranks, bool empty_batches);

}  // namespace tally::testkit::internal
