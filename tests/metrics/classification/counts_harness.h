#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally::testkit {

/// check_metric() for a metric over counts, whose samplewise values stand in
/// the order of the samples. Strips "input" where the dtype says it.
template <class M>
void check_counts(bool has_input_option = false) {
  SCOPED_TRACE(M::kName);
  HarnessOptions global;
  HarnessOptions samplewise;
  if (!has_input_option) {
    global.strip_options = samplewise.strip_options = {"input"};
  }
  samplewise.order_matters = true;
  for (const FixtureCase& one : read_fixture(M::kName)) {
    const auto found = one.options.find("multidim_average");
    const bool is_samplewise =
        found != one.options.end() && found->second == "samplewise";
    (is_samplewise ? global : samplewise).skip_cases.insert(one.name);
  }
  check_metric<M>(M::kName, global);
  check_metric<M>(M::kName, samplewise);
}

}  // namespace tally::testkit
