#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/metrics/results.h"
#include "tally/testing/batch.h"
#include "tally/testing/compare.h"
#include "tally/testing/pretend_device.h"
#include "tally/tests/metrics/registry_cases.h"

/// The reference cases of metrics, for tests on the pretend device.
namespace tally::testkit {

// The CPU has kernels of its own for some sums, in float32 for images.
inline constexpr Tolerance kTolerance{1e-6, 1e-9};

inline Batch moved_to(c10::Device device, const Batch& batch) {
  Batch moved;
  for (const BatchInput& input : batch) {
    moved.push_back(input.with_tensors([&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.to(device) : tensor;
    }));
  }
  return moved;
}

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

inline void update(Metric& metric, const Batch& batch) {
  registry_cases::with_inputs(
      batch, [&](Inputs inputs) { metric.update_inputs(inputs); });
}

inline Results on_cpu(const Results& results) {
  Results moved;
  for (const auto& [name, value] : results) {
    moved.add(name, value.defined() ? value.detach().cpu() : value);
  }
  return moved;
}

inline std::vector<c10::Device> places_of(const Results& results) {
  std::vector<c10::Device> places;
  for (const auto& [name, value] : results) {
    if (value.defined()) places.push_back(value.device());
  }
  return places;
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
