#pragma once

#include <string>
#include <vector>

#include "tally/testing/batch.h"

namespace tally::testkit::internal {

/// Batches dealt to ranks: `ranks[r]` is what rank r sees.
struct Split {
  std::string name;
  std::vector<std::vector<Batch>> ranks;
};

struct SplitOptions {
  bool cut_rows = true;       ///< may batches be joined and cut?
  bool empty_batches = true;  ///< may ranks get batches of no rows?
  bool in_turn = true;        ///< may the order of the rows change?
};

/// Even and uneven cuts, all data on one rank, an idle first rank and an idle
/// last one, and (as options allow) empty batches and rows dealt in turn.
std::vector<Split> splits_of(const std::vector<Batch>& batches, int ranks,
                             const SplitOptions& options);

/// One batch for each rank: uneven ones, and one of no rows where allowed.
std::vector<Batch> step_of(const Batch& rows, int ranks, bool empty_batches);

}  // namespace tally::testkit::internal
