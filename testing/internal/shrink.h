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

/// What is found with so many ranks and these rows; nothing if all is well.
using Trial = std::function<std::vector<Finding>(
    const Batch& rows, const std::vector<int>& ranks)>;

/// Takes away ranks, and then rows, one after the other, for as long as the
/// same is found: afterwards no smaller number of ranks, and no batch with one
/// row less, fails in that way. Without `over_ranks` their number plays no
/// part.
FailingCase shrink(FailingCase failing, bool over_ranks, const Trial& trial);

}  // namespace tally::testkit::internal
