#pragma once

#include "tally/testing/internal/failure_report.h"
#include "tally/testing/rank.h"

namespace tally::testkit::internal {

/// Runs the current test on `ranks` processes of this program and reports the
/// results to GoogleTest.
void run_ranks(int ranks, const RanksOptions& options, const Place& test);

}  // namespace tally::testkit::internal
