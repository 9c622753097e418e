#pragma once

#include <string>

#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally::testing {

/// check_metric() for a metric over MulticlassStatScores, whose samplewise
/// values stand in the order of the samples.
template <class M>
void check_stat_scores(const std::string& fixture) {
  HarnessOptions global;
  HarnessOptions samplewise;
  global.strip_options = samplewise.strip_options = {"input"};
  samplewise.order_matters = true;
  for (const FixtureCase& one : read_fixture(fixture)) {
    const auto found = one.options.find("multidim_average");
    const bool is_samplewise =
        found != one.options.end() && found->second == "samplewise";
    (is_samplewise ? global : samplewise).skip_cases.insert(one.name);
  }
  check_metric<M>(fixture, global);
  check_metric<M>(fixture, samplewise);
}

}  // namespace tally::testing
