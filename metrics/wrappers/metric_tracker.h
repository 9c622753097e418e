#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// When a result has stopped improving: MetricTracker::should_stop.
class EarlyStoppingOptions {
 public:
  /// So many steps in a row without an improvement, at least 1.
  EarlyStoppingOptions(std::int64_t patience) : patience_(patience) {}

  TORCH_ARG(std::int64_t, patience);
  /// See MetricTracker::improved.
  TORCH_ARG(double, min_delta) = 0;
  /// The name of the result, which the only one does not need.
  TORCH_ARG(std::string, result) = "";
};

/// A metric or collection over the steps (such as epochs) of a run: each step
/// has states of its own, and the values of all are kept.
///
/// The result of a single metric has the metric's name. compute() and the other
/// functions that compute are collective if those of Metric are; compute_all()
/// and best_metric() sync all steps at once. Values computed for a finished
/// step, over all ranks, replace its states: neither memory nor checkpoints
/// grow with the samples of earlier steps, and no step is synced again. Those
/// of a rank by itself (sync_on_compute(false), a CommunicatorGuard of a single
/// process, while synced) leave states as they are. sync(), to() and the
/// other functions of MetricBase apply to all steps that have states.
/// Everything that updates or computes throws c10::Error before the first
/// increment().
///
/// A step may have a label, which is saved with it, and must be the same on all
/// ranks.
///
/// Example:
///     MetricTracker tracker(MulticlassAccuracy(10));
///     for (int epoch = 0; epoch < 3; ++epoch) {
///       tracker.increment("epoch " + std::to_string(epoch));
///       for (const Batch& batch : batches) tracker.update(preds, target);
///       if (tracker.improved()) std::cout << "best so far\n";
///       if (tracker.should_stop(EarlyStoppingOptions(3))) break;
///     }
///     // .value, .step, .label
///     MetricTracker::Best best = tracker.best_metric();
class MetricTracker : public MetricBase,
                      public internal::UpdateCalls<MetricTracker>,
                      public internal::ForwardCalls<MetricTracker>,
                      public internal::OptionCalls<MetricTracker> {
 public:
  static constexpr const char* kName = "MetricTracker";

  /// The best value of a result, and its step.
  struct Best {
    double value;
    std::int64_t step;
    std::string label;  // of the step; empty without one
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
  void increment(const std::string& label = "");
  /// Labels it with a number, such as that of the iteration.
  void increment(std::int64_t label) { increment(std::to_string(label)); }
  std::int64_t n_steps() const;
  /// Of all steps.
  std::vector<std::string> labels() const;

  using ForwardCalls::forward_inputs;
  using UpdateCalls::update_inputs;
  /// For the current step.
  void update_inputs(Inputs inputs);
  void update_inputs(NamedInputs inputs);
  Results forward_inputs(Inputs inputs);
  Results forward_inputs(NamedInputs inputs);
  /// Of the current step.
  Results compute();
  /// compute() as a number: that result, or the only one.
  double number(const std::string& result) { return compute().number(result); }
  double number() { return compute().number(); }
  /// Empties the current step.
  void reset();

  /// The values of all steps: each result has an additional first dimension.
  /// Throws c10::ValueError if a result's size differs between steps.
  Results compute_all();
  /// For the result with that name, or the only one; the first of equal values,
  /// NaN only if there is nothing else. Throws c10::IndexError for an unknown
  /// name; c10::ValueError if it is not one number per step, and if it is
  /// unknown whether to maximize it.
  Best best_metric(const std::string& result = "");
  /// Whether the current step is better than all before it by more than
  /// `min_delta`; the first step is. NaN never is, of which the first gives a
  /// warning. Computes and throws like best_metric(), and also for a min_delta
  /// below 0. Where compute() is collective, so is this: all ranks call it, and
  /// get the answer of rank 0.
  bool improved(const std::string& result = "", double min_delta = 0);
  /// Whether none of the last `patience` steps improved the result, in the same
  /// sense.
  bool should_stop(const EarlyStoppingOptions& options);
  /// Of all steps, as compute_all(): see MetricOf::sync_async.
  PendingValue<Results> sync_async();
  /// Forgets all steps.
  void reset_all() { MetricBase::reset(); }

  /// Adds, step by step, what `other`, of the same metrics, accumulated. Throws
  /// c10::ValueError for a step of which only the value is left.
  void merge_state(const MetricTracker& other);
  /// See Metric::set_metric_options. Options that affect states are those of
  /// the metrics, and cannot be changed.
  void set_metric_options(MetricOptions options) {
    set_sync_options(std::move(options));
  }
  MetricTracker clone() const;
  /// "MetricTracker(", the collection, ", steps=3)".
  std::string repr() const;
  std::string spec() const override;

 private:
  void require_step(const char* verb) const;
  std::vector<AnyState> observe(Inputs inputs) const;
  std::vector<AnyState> observe(NamedInputs inputs);
  // Stacked; those of `rows` are added to `values`, by step.
  Results values_of(internal::StateRows& rows,
                    std::vector<Results>& values) const;
  // The values that are left of finished steps; others are empty.
  std::vector<Results> finished_values() const;
  bool maximizes(const std::string& result) const;
  // The numbers of a result, step by step, such that larger ones are better.
  struct History {
    std::string name;
    std::vector<double> values;
    double sign = 1;
  };
  History history_of(const Results& all, const std::string& result) const;
  // The number of steps since the last that improved the result.
  std::int64_t steps_without_gain(const History& history,
                                  double min_delta) const;
  void warn_of_nan(const History& history);
  // Whether one of the last `patience` steps improved the result, as rank 0
  // sees it.
  bool has_gained(const EarlyStoppingOptions& options);

  MetricCollection metrics_;  // accumulates nothing itself
  std::map<std::string, bool> maximize_;
  bool is_single_ = false;  // of a metric rather than a collection
  Results value_;
  bool has_warned_of_nan_ = false;
};

}  // namespace tally
