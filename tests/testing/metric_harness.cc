#include "tally/tests/testing/metric_harness.h"

#include <gtest/gtest.h>

#include "tally/sync/errors.h"
#include "tally/tests/testing/case_check.h"

namespace tally::testkit {
namespace {

void check_cases(const std::vector<FixtureCase>& cases,
                 const MetricFactory& factory, const HarnessOptions& options) {
  ASSERT_FALSE(cases.empty());
  bool first = true;
  for (const FixtureCase& one : cases) {
    if (options.skip_cases.count(one.name) != 0) continue;
    try {
      CaseCheck(one, factory, options).run(first);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "case " << one.name
                    << " threw: " << sync::describe(error);
    }
    first = false;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace

void check_fixture(const std::string& fixture, const MetricFactory& factory,
                   const HarnessOptions& options) {
  check_cases(read_fixture(fixture), factory, options);
}

void check_case(const FixtureCase& one, const MetricFactory& factory,
                const HarnessOptions& options) {
  check_cases({one}, factory, options);
}

}  // namespace tally::testkit
