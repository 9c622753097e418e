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
/// Example:
///     MetricTracker tracker(MulticlassAccuracy(10));
///     for (int epoch = 0; epoch < 3; ++epoch) {
///       tracker.increment();
///       for (const Batch& batch : batches) tracker.update(preds, target);
///     }
///     MetricTracker::Best best = tracker.best_metric();  // .value, .step
class MetricTracker : public MetricBase,
                      public internal::UpdateCalls<MetricTracker>,
                      public internal::ForwardCalls<MetricTracker>,
                      public internal::OptionCalls<MetricTracker> {
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
  std::int64_t n_steps() const;

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

  MetricCollection metrics_;  // accumulates nothing itself
  std::map<std::string, bool> maximize_;
  Results value_;
};

}  // namespace tally
