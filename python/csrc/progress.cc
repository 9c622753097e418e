#include "tally/metrics/progress.h"

#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "tally/python/csrc/library.h"

namespace tally::python {
namespace {

/// A function of ctypes; not 0 if it failed.
using Callback = int (*)(const char* unit, std::int64_t done, std::int64_t all);

thread_local std::vector<std::unique_ptr<ProgressGuard>> guards;

void push_progress(std::int64_t address, double pause) {
  const auto callback =
      reinterpret_cast<Callback>(static_cast<std::uintptr_t>(address));
  guards.push_back(std::make_unique<ProgressGuard>(
      [callback](const ComputeProgress& progress) {
        TORCH_CHECK(
            callback(progress.unit.c_str(), progress.done, progress.all) == 0,
            "the function that is told of the progress failed");
      },
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * pause))));
}

void pop_progress() { guards.pop_back(); }

struct ProgressCalls final : torch::CustomClassHolder {};

}  // namespace

void define_progress(torch::Library& m) {
  m.class_<ProgressCalls>("Progress")
      .def_static("push", &push_progress)
      .def_static("pop", &pop_progress);
}

}  // namespace tally::python
