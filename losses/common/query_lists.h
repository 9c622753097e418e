#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/losses/common/scored_labels.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// The samples of one query: positives of all ranks, and this rank's samples.
struct QueryList {
  std::int64_t first;      ///< of its positives, in QueryLists::order
  std::int64_t positives;  ///< at least 1
  std::int64_t own_first;  ///< of its own samples, in QueryLists::own_order
  std::int64_t own;
  std::int64_t before;  ///< positives of lower ranks
};

/// Queries with a positive on any rank.
struct QueryLists {
  std::vector<QueryList> queries;
  at::Tensor order;      ///< [N+]: gathered positives, query after query
  at::Tensor own_order;  ///< indices of this rank's samples, likewise
};

/// All samples as one query if they have none. Collective if they have:
/// positives' queries are gathered.
QueryLists query_lists(const sync::Call& call, const RankRows& positives,
                       const ScoredLabels& own);

}  // namespace tally::losses::internal
