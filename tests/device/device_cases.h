#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/testing/batch.h"
#include "tally/tests/metrics/registry_cases.h"

/// The reference cases of metrics, for tests on the pretend device.
namespace tally::testkit {

inline bool has_tensors(const Batch& batch) {
  bool any = false;
  for (const BatchInput& input : batch) {
    input.with_tensors([&](const at::Tensor& tensor) {
      any = true;
      return tensor;
    });
  }
  return any;
}

/// At most so many of a metric's cases with tensors, spread over its file.
inline std::vector<FixtureCase> device_cases(const std::string& name,
                                             std::size_t most) {
  std::vector<FixtureCase> all =
      registry_cases::cases_of(builtin_registry().at(name));
  std::vector<FixtureCase> some;
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) {
    FixtureCase& each = all[i * all.size() / count];
    for (Batch& batch : each.batches) {
      for (BatchInput& input : batch) input.set_ragged(image_objects);
    }
    if (has_tensors(each.batches.at(0))) some.push_back(std::move(each));
  }
  return some;
}

/// Those with such cases.
inline std::vector<std::string> device_metrics() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (!device_cases(name, 1).empty()) names.push_back(name);
  }
  return names;
}

}  // namespace tally::testkit
