#include "tally/metrics/wrappers/metric_tracker.h"

#include <torch/library.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

/// Value, step and label.
using BestParts = std::tuple<double, std::int64_t, std::string>;

/// Of copies; `is_single`: of the only metric, which goes by its own name.
std::shared_ptr<MetricTracker> tracker_of(const MetricCollection& metrics,
                                          std::map<std::string, bool> maximize,
                                          bool is_single) {
  if (!is_single) {
    return std::make_shared<MetricTracker>(metrics.clone(),
                                           std::move(maximize));
  }
  std::optional<bool> told;
  if (!maximize.empty()) told = maximize.begin()->second;
  return std::make_shared<MetricTracker>(
      metrics.extract(metrics.names().front()), told);
}

}  // namespace

void define_metric_tracker(torch::Library& m) {
  using Self = ObjectPtr<MetricTracker>;
  auto c = m.class_<Object<MetricTracker>>("MetricTracker");
  c.def(torch::init([](const ObjectPtr<MetricCollection>& metrics,
                       const c10::Dict<std::string, bool>& maximize,
                       bool is_single) {
    std::map<std::string, bool> told;
    for (const auto& each : maximize) told[each.key()] = each.value();
    return metrics->use([&](MetricCollection& held) {
      return make_object(tracker_of(held, std::move(told), is_single));
    });
  }));
  define_states(c);
  c.def("increment", [](const Self& self, const std::string& label) {
    self->use([&](MetricTracker& held) { held.increment(label); });
  });
  c.def("n_steps", [](const Self& self) {
    return self->use([](MetricTracker& held) { return held.n_steps(); });
  });
  c.def("labels", [](const Self& self) {
    return self->use([](MetricTracker& held) { return held.labels(); });
  });
  define_updates(c);
  c.def("compute", [](const Self& self) {
    return self->use(
        [](MetricTracker& held) { return dict_of(held.compute()); });
  });
  c.def("compute_all", [](const Self& self) {
    return self->use(
        [](MetricTracker& held) { return dict_of(held.compute_all()); });
  });
  c.def("best_metric", [](const Self& self, const std::string& result) {
    return self->use([&](MetricTracker& held) {
      MetricTracker::Best best = held.best_metric(result);
      return BestParts(best.value, best.step, std::move(best.label));
    });
  });
  c.def("improved",
        [](const Self& self, const std::string& result, double min_delta) {
          return self->use([&](MetricTracker& held) {
            return held.improved(result, min_delta);
          });
        });
  c.def("should_stop", [](const Self& self, std::int64_t patience,
                          const std::string& result, double min_delta) {
    return self->use([&](MetricTracker& held) {
      return held.should_stop(
          EarlyStoppingOptions(patience).result(result).min_delta(min_delta));
    });
  });
  c.def("reset_all", [](const Self& self) {
    self->use([](MetricTracker& held) { held.reset_all(); });
  });
}

}  // namespace tally::python
