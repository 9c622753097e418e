#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tally/testing/rank.h"

namespace tally::testkit::internal {

/// The rank that this process is, or null in the test's runner. From the first
/// call on, which is before main(), GoogleTest's results go to the runner.
class RankProcess;
RankProcess* rank_process();

/// Connects the rank as the options say. In a rank's process only.
void enter_test(const RanksOptions& options);
/// Runs the body; what it throws becomes a failure. In a rank's process only.
void run_in_process(const std::function<void(Rank&)>& body);

}  // namespace tally::testkit::internal
