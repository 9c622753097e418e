#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// A metric or collection over the steps (such as epochs) of a run: each step
/// has its own copy, and the values of all are kept.
///
/// The result of a single metric has the metric's name. compute() and the other
/// functions that compute are collective if those of Metric are; compute_all()
/// and best_metric() sync all steps at once. Values computed for a finished
/// step replace its state: neither memory nor checkpoints grow with the samples
/// of earlier steps, and no step is synced again. Everything except increment()
/// and read-only functions throws c10::Error before the first increment().
///
/// Example:
///     MetricTracker tracker(MulticlassAccuracy(10));
///     for (int epoch = 0; epoch < 3; ++epoch) {
///       tracker.increment();
///       for (const Batch& batch : batches) tracker.update(preds, target);
///     }
///     MetricTracker::Best best = tracker.best_metric();  // .value, .step
class MetricTracker {
 public:
  /// The best value of a result, and its step.
  struct Best {
    double value;
    std::int64_t step;
  };

  /// `maximize`: whether the largest value is the best. Default: the metric's
  /// higher_is_better().
  explicit MetricTracker(OwnedMetric metric,
                         std::optional<bool> maximize = std::nullopt);
  /// The same by member name. Throws c10::ValueError for an unknown name, and
  /// if the collection has accumulated data.
  explicit MetricTracker(MetricCollection&& metrics,
                         std::map<std::string, bool> maximize = {});

  /// Starts the next step.
  void increment();
  std::int64_t n_steps() const {
    return static_cast<std::int64_t>(steps_.size());
  }

  /// See MetricCollection; for the current step.
  template <class... Args>
  void update(const Args&... args) {
    current("update").update(args...);
  }
  void update(std::initializer_list<NamedInput> inputs) {
    current("update").update(inputs);
  }
  template <class... Args>
  Results forward(const Args&... args) {
    return current("forward").forward(args...);
  }
  Results forward(std::initializer_list<NamedInput> inputs) {
    return current("forward").forward(inputs);
  }
  Results compute() { return current("compute").compute(); }
  void reset() { current("reset").reset(); }

  /// The values of all steps: each result has an additional first dimension.
  /// Throws c10::ValueError if a result's size differs between steps.
  Results compute_all();
  /// For the result with that name, or the only one; the first of equal values,
  /// NaN only if there is nothing else. Throws c10::IndexError for an unknown
  /// name; c10::ValueError if it is not one number per step, and if it is
  /// unknown whether to maximize it.
  Best best_metric(const std::string& result = "");
  /// Forgets all steps.
  void reset_all() { steps_.clear(); }

  /// See Metric::serialize; includes all steps, with the stored values.
  std::string serialize() const;
  absl::Status deserialize(std::string_view bytes);
  absl::Status save(const std::string& path) const;
  absl::Status load(const std::string& path);
  MetricTracker clone() const;
  /// "MetricTracker(", the collection, ", steps=3)".
  std::string repr() const;

 private:
  struct Step {
    MetricCollection metrics;
    Results value = {};  // stored once the step is finished
  };

  MetricCollection& current(const char* verb);
  bool is_over(std::size_t step) const { return step + 1 < steps_.size(); }
  bool maximizes(const std::string& result) const;

  MetricCollection empty_;
  std::map<std::string, bool> maximize_;
  std::vector<Step> steps_;
};

}  // namespace tally
