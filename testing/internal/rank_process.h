#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tally/testing/rank.h"

namespace tally::testkit::internal {

/// The rank of this process, or null in the test's runner. From the first call
/// on, which is before main(), GoogleTest's results are sent to the runner.
class RankProcess;
RankProcess* rank_process();

/// Connects the rank according to the options. Only in a rank's process.
void enter_test(const RanksOptions& options);
/// Runs the body; exceptions become failures. Only in a rank's process.
void run_in_process(const std::function<void(Rank&)>& body);

}  // namespace tally::testkit::internal
