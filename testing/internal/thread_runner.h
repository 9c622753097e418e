#pragma once

#include <functional>

#include "tally/testing/internal/failure_report.h"
#include "tally/testing/rank.h"

namespace tally::testkit::internal {

/// One rank's part of a test on threads. The body is skipped if the set-up
/// fails.
struct ThreadBody {
  std::function<void()> set_up;
  std::function<void(Rank& self)> body;
  std::function<void()> tear_down;
};

/// Runs bodies[r] as rank r, each on a separate thread, and reports the results
/// to GoogleTest.
void run_threads(const std::vector<ThreadBody>& bodies,
                 const RanksOptions& options, const Place& test);

}  // namespace tally::testkit::internal
