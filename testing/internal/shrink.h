#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tally/testing/batch.h"
#include "tally/testing/internal/findings.h"

namespace tally::testkit::internal {

/// A case that fails: rows, and numbers of ranks to try.
struct FailingCase {
  Batch rows;
  std::vector<int> ranks;
  Finding finding;
};

/// The findings for a number of ranks and these rows; empty on success.
using Trial = std::function<std::vector<Finding>(
    const Batch& rows, const std::vector<int>& ranks)>;

/// Removes ranks, and then rows, one by one, as long as the finding remains the
/// same: afterwards no smaller number of ranks, and no batch with one row less,
/// fails in that way. Without `over_ranks` the number of ranks is ignored.
FailingCase shrink(FailingCase failing, bool over_ranks, const Trial& trial);

}  // namespace tally::testkit::internal
