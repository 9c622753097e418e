#include "tally/tests/metrics/portable/golden.h"

#include <optional>
#include <utility>

#include "tally/state/codec.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally::golden {
namespace {

using namespace registry_cases;  // NOLINT(build/namespaces)

// What a case adds to the repository.
constexpr std::size_t kMostBytes = 20'000;

State state_of(const std::string& name, const FixtureCase& each) {
  const auto metric = metric_of(name, each);
  for (const Batch& batch : each.batches) {
    with_inputs(batch, [&](Inputs inputs) { metric->update_inputs(inputs); });
  }
  return {name, metric->to_bytes(), metric->compute_results()};
}

}  // namespace

std::vector<State> make_states() {
  std::vector<State> states;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    std::optional<State> smallest;
    for (const FixtureCase& each : cases_with_rows(entry)) {
      State state = state_of(name, each);
      if (state.bytes.size() > kMostBytes) continue;
      if (!smallest || state.bytes.size() < smallest->bytes.size()) {
        smallest = std::move(state);
      }
    }
    if (smallest) states.push_back(*std::move(smallest));
  }
  return states;
}

std::string encode(const std::vector<State>& states) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(states.size()));
  for (const State& state : states) {
    encoder.text(state.name);
    encoder.text(state.bytes);
    encoder.integer(static_cast<std::int64_t>(state.values.size()));
    for (const auto& [part, value] : state.values) {
      encoder.text(part);
      encoder.tensor(value);
    }
  }
  return bytes;
}

std::vector<State> decode(const std::string& bytes) {
  Decoder decoder(bytes);
  std::vector<State> states(static_cast<std::size_t>(decoder.integer()));
  for (State& state : states) {
    state.name = decoder.text();
    state.bytes = decoder.text();
    for (std::int64_t left = decoder.integer(); left > 0; --left) {
      std::string part = decoder.text();
      state.values.add(std::move(part), decoder.tensor());
    }
  }
  return states;
}

}  // namespace tally::golden
