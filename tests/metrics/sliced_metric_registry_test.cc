#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "tally/metrics/registry/registry.h"
#include "tally/metrics/sliced_metric.h"
#include "tally/testing/batch.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using testkit::Batch;
using testkit::FixtureCase;

/// The first of a metric's reference cases that has rows of tensors and texts.
std::optional<FixtureCase> case_of(const std::string& metric) {
  std::vector<FixtureCase> cases;
  try {
    cases = testkit::read_fixture(metric);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
  for (FixtureCase& each : cases) {
    bool fits = !each.batches.empty();
    for (const Batch& batch : each.batches) {
      for (const auto& input : batch) {
        const bool is_ragged =
            std::holds_alternative<testkit::BatchInput::Ragged>(
                input.content());
        fits = fits && !is_ragged && (input.is_tensor() || input.rows() >= 0) &&
               input.rows() == batch[0].rows();
      }
    }
    if (fits) return std::move(each);
  }
  return std::nullopt;
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

TEST(SlicedMetricRegistryTest, EqualsFilteringTheRowsForEveryMetric) {
  int compared = 0;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const auto each = case_of(name);
    if (!each) continue;
    const auto metric = metric_of(name, *each);
    SlicedMetric sliced(metric->clone());
    std::map<std::int64_t, Results> wanted;
    bool refuses = false;
    for (const std::int64_t key : {0, 1, 2}) {
      auto value = filtered(*metric, *each, key);
      refuses = refuses || !value;
      if (value) wanted[key] = std::move(*value);
    }
    if (refuses) continue;
    for (const Batch& batch : each->batches) {
      std::vector<SliceValue> keys;
      for (std::int64_t i = 0; i < batch[0].rows(); ++i)
        keys.emplace_back(i % 3);
      with_inputs(batch, [&](Inputs inputs) {
        sliced.update_inputs(SliceKeys(keys), inputs);
      });
    }
    for (const Slice& slice : sliced.compute()) {
      const Results& alone = wanted.at(std::get<std::int64_t>(slice.key[0]));
      ASSERT_EQ(slice.results.size(), alone.size());
      for (const auto& [part, value] : slice.results) {
        const at::Tensor& other = alone.at(part);
        ASSERT_EQ(value.defined(), other.defined());
        if (!value.defined()) continue;
        EXPECT_TRUE(value.sizes() == other.sizes() &&
                    value.allclose(other, 1e-12, 1e-12, /*equal_nan=*/true))
            << part << ": " << value << " instead of " << other;
      }
    }
    ++compared;
  }
  // The others take rows of their own types, or have no reference cases.
  EXPECT_GT(compared, 50);
  RecordProperty("compared", compared);
}

TEST(SlicedMetricRegistryTest, RefusesWhatDependsOnBatches) {
  std::set<std::string> refused;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const auto metric =
        make_metric(name + "(" + std::string(entry.summary.required) + ")");
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
