#include "tally/metrics/wrappers/tracked_steps.h"

#include <c10/util/Exception.h>

#include <utility>

#include "tally/metrics/core/state_rows.h"
#include "tally/state/codec.h"

namespace tally::internal::tracked {
namespace {

constexpr std::size_t kNumberSize = sizeof(std::int64_t);

}  // namespace

std::string step_key(std::size_t step, const std::string& label) {
  return number_key(static_cast<std::int64_t>(step)) + label;
}

std::int64_t step_of(const std::string& key) {
  return number_of_key(key.substr(0, kNumberSize));
}

std::string label_of(const std::string& key) {
  return key.size() > kNumberSize ? key.substr(kNumberSize) : "";
}

std::string step_name(const std::string& key) {
  const std::string label = label_of(key);
  return "step " + std::to_string(step_of(key)) +
         (label.empty() ? "" : " (" + label + ")");
}

void check_steps(const std::vector<std::string>& keys, std::size_t others) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t step = i == 0 ? 0 : others + i;
    TORCH_CHECK_VALUE(
        keys[i].size() >= kNumberSize &&
            step_of(keys[i]) == static_cast<std::int64_t>(step),
        "MetricTracker: expected all steps from 0 on, with the same labels, "
        "got ",
        step_name(keys[i]));
  }
}

std::string encoded(const Results& values) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(values.size()));
  for (const auto& [name, value] : values) {
    encoder.text(name);
    encoder.tensor(value);
  }
  // Behind all of them: once there were none.
  for (const auto& [name, value] : values) {
    for (const Dimension dimension : values.dimensions(name)) {
      encoder.text(to_string(dimension));
    }
  }
  return bytes;
}

Results decoded(const std::string& bytes) {
  Results values;
  if (bytes.empty()) return values;
  Decoder decoder(bytes);
  std::vector<std::pair<std::string, at::Tensor>> found;
  for (std::int64_t left = decoder.integer(); left > 0; --left) {
    std::string name = decoder.text();
    found.emplace_back(std::move(name), decoder.tensor());
  }
  for (auto& [name, value] : found) {
    Dimensions dimensions;
    for (std::int64_t d = 0; value.defined() && d < value.dim(); ++d) {
      if (decoder.remaining() == 0) break;
      dimensions.push_back(dimension_of(decoder.text()));
    }
    values.add(std::move(name), std::move(value), std::move(dimensions));
  }
  return values;
}

}  // namespace tally::internal::tracked
