#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "tally/metrics/registry/registry.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/testing/batch.h"
#include "tally/tests/metrics/detection/image_rows.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using testkit::Batch;
using testkit::FixtureCase;

std::vector<FixtureCase> cases_of(const MetricEntry& entry) {
  if (entry.name == "MeanAverageRecall") {  // has those of this one
    return testkit::read_fixture("detection/MeanAveragePrecision");
  }
  for (const std::string& name :
       {entry.name, entry.domain + "/" + entry.name}) {
    try {
      return testkit::read_fixture(name);
    } catch (const std::runtime_error&) {
    }
  }
  return {};
}

/// Those of a metric's reference cases whose inputs have as many rows.
std::vector<FixtureCase> cases_with_rows(const MetricEntry& entry) {
  std::vector<FixtureCase> fitting;
  for (FixtureCase& each : cases_of(entry)) {
    bool fits = !each.batches.empty();
    for (Batch& batch : each.batches) {
      for (auto& input : batch) {
        if (std::holds_alternative<testkit::BatchInput::Ragged>(
                input.content())) {
          input.set_ragged(testkit::image_objects);
        }
        fits = fits && input.rows() == batch[0].rows() && input.rows() >= 0;
      }
    }
    if (fits) fitting.push_back(std::move(each));
  }
  return fitting;
}

std::string call_of(const std::string& name, const FixtureCase& each,
                    bool with_input) {
  std::string options;
  for (const auto& [option, text] : each.options) {
    if (option == "input" && !with_input) continue;
    options += (options.empty() ? "" : ", ") + option + "=" + text;
  }
  return name + "(" + options + ")";
}

std::unique_ptr<Metric> metric_of(const std::string& name,
                                  const FixtureCase& each) {
  // In some fixtures "input" says what the inputs are, and is no option.
  const std::string call = call_of(name, each, /*with_input=*/true);
  const std::string refusal = testkit::refusal_of([&] { make_metric(call); });
  return make_metric(refusal.find("unknown option 'input'") == refusal.npos
                         ? call
                         : call_of(name, each, /*with_input=*/false));
}

template <class Use>
void with_inputs(const Batch& batch, const Use& use) {
  std::vector<InputValue> values;
  std::vector<InputRef> refs;
  for (const auto& input : batch) values.push_back(input.value());
  for (const InputValue& value : values) refs.push_back(value.ref());
  use(Inputs(refs));
}

/// The value of the rows with this key; nothing if the metric refuses them.
std::optional<Results> filtered(const Metric& metric, const FixtureCase& each,
                                std::int64_t key) {
  const auto alone = metric.clone();
  try {
    for (const Batch& batch : each.batches) {
      std::vector<std::int64_t> places;
      for (std::int64_t i = key; i < batch[0].rows(); i += 3) {
        places.push_back(i);
      }
      if (places.empty()) continue;
      with_inputs(batch, [&](Inputs inputs) {
        std::vector<InputValue> values;
        std::vector<InputRef> refs;
        for (const InputRef& input : inputs) {
          values.push_back(input.select(places));
        }
        for (const InputValue& value : values) refs.push_back(value.ref());
        alone->update_inputs(Inputs(refs));
      });
    }
  } catch (const c10::Error&) {
    return std::nullopt;
  }
  return alone->compute_results();
}

/// Whether slices could be compared; not if the metric refuses some of them.
bool compare(const std::string& name, const FixtureCase& each) {
  const auto metric = metric_of(name, each);
  SlicedMetric sliced(metric->clone());
  std::map<std::int64_t, Results> wanted;
  for (const std::int64_t key : {0, 1, 2}) {
    auto value = filtered(*metric, each, key);
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
