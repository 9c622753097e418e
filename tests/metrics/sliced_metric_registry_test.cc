#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tally/metrics/slices/sliced_metric.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally {
namespace {

using namespace registry_cases;  // NOLINT

/// Whether slices could be compared; not if the metric refuses some of them.
bool compare(const std::string& name, const FixtureCase& each) {
  const auto metric = metric_of(name, each);
  SlicedMetric sliced(metric->clone());
  std::map<std::int64_t, Results> wanted;
  for (const std::int64_t key : {0, 1, 2}) {
    auto value = filtered(*metric, each,
                          [&](std::int64_t row) { return row % 3 == key; });
    if (!value) return false;
    wanted[key] = std::move(*value);
  }
  for (const Batch& batch : each.batches) {
    std::vector<SliceValue> keys;
    for (std::int64_t i = 0; i < batch[0].rows(); ++i) {
      keys.emplace_back(i % 3);
    }
    with_inputs(batch, [&](Inputs inputs) {
      sliced.update_inputs(SliceKeys(keys), inputs);
    });
  }
  for (const SliceResult& slice : sliced.compute()) {
    const Results& alone = wanted.at(std::get<std::int64_t>(slice.key[0]));
    EXPECT_EQ(slice.results.size(), alone.size());
    for (const auto& [part, value] : slice.results) {
      const at::Tensor& other = alone.at(part);
      EXPECT_EQ(value.defined(), other.defined());
      if (!value.defined() || !other.defined()) continue;
      EXPECT_TRUE(value.sizes() == other.sizes() &&
                  value.allclose(other, 1e-12, 1e-12, /*equal_nan=*/true))
          << part << ": " << value << " instead of " << other;
    }
  }
  return true;
}

TEST(SlicedMetricRegistryTest, EqualsFilteringTheRowsForEveryMetric) {
  std::set<std::string> left;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    SCOPED_TRACE(name);
    const std::vector<FixtureCase> cases = cases_with_rows(entry);
    if (std::none_of(cases.begin(), cases.end(), [&](const FixtureCase& each) {
          return compare(name, each);
        })) {
      left.insert(name);
    }
  }
  // Of the last batches, which are refused below.
  EXPECT_EQ(left, (std::set<std::string>{"RunningMean", "RunningSum"}));
}

TEST(SlicedMetricRegistryTest, RefusesWhatDependsOnBatches) {
  std::set<std::string> refused;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const auto metric = make_metric(entry.example());
    const std::string refusal =
        testkit::refusal_of([&] { SlicedMetric sliced(metric->clone()); });
    if (refusal == "nothing") continue;
    EXPECT_NE(refusal.find("does not depend on the batches"), refusal.npos);
    refused.insert(name);
  }
  EXPECT_EQ(refused,
            (std::set<std::string>{"BootStrapper", "MinMaxMetric", "Running",
                                   "RunningMean", "RunningSum"}));
}

}  // namespace
}  // namespace tally
