#pragma once

#include <string>
#include <vector>

#include "tally/tests/testing/fixtures.h"

namespace tally::testkit {

/// The batches of a case, dealt to ranks: `ranks[r]` is what rank r sees.
struct Split {
  std::string name;
  std::vector<std::vector<Batch>> ranks;
};

struct SplitOptions {
  bool empty_batches = true;  ///< may ranks get batches of no rows?
  bool in_turn = true;        ///< may the order of the rows change?
};

/// Even and uneven cuts, all data on one rank, an idle first rank, and (as
/// options allow) empty batches and rows dealt in turn.
std::vector<Split> splits_of(const FixtureCase& fixture, int ranks,
                             const SplitOptions& options);

/// All batches as one. REQUIRES: row_split.
Batch joined(const std::vector<Batch>& batches);
/// The rows from `first` to before `last`, in memory of their own.
Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last);
Batch copy_of(const Batch& batch);

/// Where `total` is cut into parts in proportion to `weights`: one more number
/// than there are weights.
std::vector<std::int64_t> cuts(std::int64_t total,
                               const std::vector<std::int64_t>& weights);

}  // namespace tally::testkit
