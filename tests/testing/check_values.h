#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tally/metrics/options.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/fixtures.h"

namespace tally::testkit {

/// Checks the value over all batches of every case of a fixture, and no law:
/// for more cases than check_metric() has time for. `ragged` makes what the
/// metric takes of ragged inputs.
template <class M>
void check_values(const std::string& fixture, const RaggedInput& ragged = {}) {
  for (const FixtureCase& one : read_fixture(fixture)) {
    auto options = tally::internal::unset_options<typename M::Options>();
    parse_options(options, M::kName, one.options);
    M metric(options);
    for (Batch batch : one.batches) {
      std::vector<InputValue> values;
      for (BatchInput& input : batch) {
        input.set_ragged(ragged);
        values.push_back(input.value());
      }
      std::vector<InputRef> refs;
      for (const InputValue& value : values) refs.push_back(value.ref());
      metric.update_inputs(Inputs(refs));
    }
    Results expected;
    for (const auto& [name, value] : one.expected) expected.add(name, value);
    const Results results = metric.compute_results();
    Results sorted;
    for (const auto& [name, value] : expected) {
      if (results.contains(name)) sorted.add(name, results[name]);
    }
    EXPECT_EQ(results.size(), expected.size()) << one.name;
    EXPECT_TRUE(near(sorted, expected, {one.rtol, one.atol})) << one.name;
  }
}

}  // namespace tally::testkit
