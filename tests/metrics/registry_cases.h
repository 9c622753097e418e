#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/testing/batch.h"
#include "tally/tests/metrics/detection/image_rows.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

/// The reference cases of every metric, row by row.
namespace tally::registry_cases {

using testkit::Batch;
using testkit::FixtureCase;

inline std::vector<FixtureCase> cases_of(const MetricEntry& entry) {
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
inline std::vector<FixtureCase> cases_with_rows(const MetricEntry& entry) {
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

inline std::string call_of(const std::string& name, const FixtureCase& each,
                           bool with_input) {
  std::string options;
  for (const auto& [option, text] : each.options) {
    if (option == "input" && !with_input) continue;
    options += (options.empty() ? "" : ", ") + option + "=" + text;
  }
  return name + "(" + options + ")";
}

inline std::unique_ptr<Metric> metric_of(const std::string& name,
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

/// The value of the rows that `keeps(place in the batch)`; nothing if the
/// metric refuses them.
template <class Keeps>
std::optional<Results> filtered(const Metric& metric, const FixtureCase& each,
                                const Keeps& keeps) {
  const auto alone = metric.clone();
  try {
    for (const Batch& batch : each.batches) {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < batch[0].rows(); ++i) {
        if (keeps(i)) places.push_back(i);
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

}  // namespace tally::registry_cases
