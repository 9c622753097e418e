#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/warnings.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally {
namespace {

using namespace registry_cases;  // NOLINT

// Every third row of each batch is of the same group.
constexpr std::int64_t kGroups = 3;

/// Whether values could be compared; not if the metric refuses some rows.
bool compare(const std::string& name, const FixtureCase& each) {
  // Their values count rows of weight 0, which intervals leave out.
  const bool is_weighted = each.name.find("weight") != std::string::npos;
  if (is_weighted && (name == "ConcordanceCorrCoef" ||
                      name == "NormalizedRootMeanSquaredError")) {
    return false;
  }
  const auto metric = metric_of(name, each);
  metric->set_dtype(at::kDouble);
  const auto methods = interval_methods(*metric);
  if (std::find(methods.begin(), methods.end(), IntervalMethod::kJackknife) ==
      methods.end()) {
    return false;
  }
  std::vector<Results> wanted;
  for (std::int64_t group = 0; group < kGroups; ++group) {
    auto value = filtered(*metric, each, [&](std::int64_t row) {
      return row % kGroups != group;
    });
    if (!value) return false;
    wanted.push_back(*std::move(value));
  }
  IntervalMetric jackknife(
      metric->clone(),
      IntervalOptions().method(IntervalMethod::kJackknife).grouped(true));
  for (const Batch& batch : each.batches) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < batch[0].rows(); ++i) {
      ids.push_back(i % kGroups);
    }
    with_inputs(batch, [&](Inputs inputs) {
      jackknife.update_inputs(SampleIds(ids), inputs);
    });
  }
  const Replicates found = jackknife.replicates();
  // Groups that do not count are not left out.
  if (found.by_unit->ids.size() != kGroups) return false;
  for (const auto& [part, values] : found.replicates) {
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const at::Tensor own = values[group];
      const at::Tensor other =
          wanted[static_cast<std::size_t>(group)].at(part).to(at::kCPU,
                                                              at::kDouble);
      EXPECT_TRUE(own.sizes() == other.sizes() &&
                  own.allclose(other, 1e-9, 1e-12, /*equal_nan=*/true))
          << part << ": " << own << " instead of " << other;
    }
  }
  return true;
}

TEST(UnitRegistryTest, LeavesOutWhatEveryMetricHasOfAGroup) {
  const WarningGuard quiet([](const MetricWarning&) {});
  int compared = 0;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    for (const FixtureCase& each : cases_with_rows(entry)) {
      SCOPED_TRACE(name + " " + each.name);
      try {
        compared += compare(name, each);
      } catch (const c10::Error& error) {
        // Results whose size depends on the data have no interval.
        EXPECT_NE(std::string(error.what()).find("size does not depend"),
                  std::string::npos)
            << error.what();
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace tally
