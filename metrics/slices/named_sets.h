#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/options.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/slices/sliced_rows.h"

namespace tally {

/// Options of NamedSets.
struct NamedSetsOptions {
  /// The weight of each set in the weighted mean. Default: empty, its rows.
  TORCH_ARG(std::vector<double>, weights);

 public:
  void visit(OptionVisitor& v) {
    v("weights", weights_, OptionRole::kValue,
      "The weight of each set in the weighted mean; none: its rows.");
  }
};

/// The values of one data set.
struct SetResult {
  std::string name;
  std::int64_t rows = 0;
  /// In the weighted mean.
  double weight = 0;
  Results results;
};

/// Throws c10::ValueError, in the words of `owner`, for no names of sets, and
/// for one that is empty, occurs twice, has a slash, or is that of a mean.
void check_set_names(const std::vector<std::string>& sets, const char* owner);

/// The results of several data sets as "set/result", in their order, and behind
/// them "mean/result" and "weighted_mean/result" of those that are one
/// floating-point number in every set, in the precision of the first.
///
///     mean = sum(value) / sets
///     weighted_mean = sum(weight * value) / sum(weight)
///
/// A set without rows has no value: the mean is NaN. Sets of weight 0 are left
/// out of the weighted mean, which is NaN if all are. Throws like
/// check_set_names().
Results join_sets(const std::vector<SetResult>& sets);

/// Metrics of several named data sets, such as the clean and the noisy one, and
/// their means: one object that is updated with the batches of all, and synced
/// at once.
///
/// update(set, ...): the inputs of the metrics, of one batch of that set. A
/// batch has as many rows as the longest of its inputs, and one if they are
/// single numbers. Metrics share states as in a MetricCollection.
/// compute(): "set/metric" of every set, in the order in which they were named,
/// and the means that join_sets() describes: the plain one, in which every set
/// counts alike, and one weighted by the rows of the sets over all ranks, or by
/// NamedSetsOptions::weights.
/// Collective: one exchange of states. All ranks name the same sets; each
/// updates with whatever it has of them.
/// State: that of each metric, once per set.
/// Without rows a set has the value that the metric has without data, and the
/// means are those of join_sets().
/// Errors: c10::ValueError for no sets, names that are empty, occur twice, have
/// a slash or are those of the means; for weights of another number, below 0,
/// infinite or NaN; for an unknown set; for metrics whose value depends on the
/// batches that rows come in (Running, BootStrapper, MinMaxMetric); and those
/// of the metrics. A call that throws leaves everything unchanged. Not
/// differentiable.
///
/// Thread-safety: as for Metric.
///
/// Example:
///     NamedSets sets({"clean", "noisy"}, MulticlassAccuracy(10));
///     sets.update("clean", preds, target);
///     sets.update("noisy", preds.roll(1), target);
///     Results results = sets.compute();
///     std::cout << results.number("noisy/MulticlassAccuracy")
///               << results.number("mean/MulticlassAccuracy");
class NamedSets final : public SlicedRows,
                        public internal::UpdateCalls<NamedSets, std::string>,
                        public internal::OptionCalls<NamedSets> {
 public:
  using Options = NamedSetsOptions;
  static constexpr const char* kName = "NamedSets";

  /// Without a metric; see add().
  explicit NamedSets(std::vector<std::string> sets, Options options = {});
  /// With one metric, whose results are named after its class.
  NamedSets(std::vector<std::string> sets, OwnedMetric metric,
            Options options = {});

  /// Adds a metric over the same inputs, before the first update; its results
  /// are named "set/name" or "set/name.part". Throws c10::ValueError for a name
  /// in use, a metric that has accumulated data, and other options for syncing
  /// and caching than those of the first metric.
  void add(std::string name, OwnedMetric metric);

  const Options& options() const { return options_; }
  /// Their names.
  const std::vector<std::string>& sets() const { return sets_; }
  /// Those of the metrics.
  std::vector<std::string> names() const { return metrics_.names(); }

  using UpdateCalls::update_inputs;
  void update_inputs(const std::string& set, Inputs inputs) {
    update_row(key_of(set), inputs);
  }
  void update_inputs(const std::string& set, NamedInputs inputs) {
    update_row(key_of(set), inputs);
  }

  /// Of all sets over all ranks: those of the first metric's communicator.
  Results compute();
  /// See MetricOf::sync_async.
  PendingValue<Results> sync_async();

  /// Adds what `other`, with the same sets and metrics, accumulated.
  void merge_state(const NamedSets& other) { merge_from(other); }
  /// Separate metrics with the same options, sets and states.
  NamedSets clone() const;

  /// The rows of a set: of this rank, or while synced of all. Throws
  /// c10::ValueError for an unknown one.
  std::int64_t rows(const std::string& set) const;
  /// One line per metric.
  std::string repr() const;
  std::string spec() const override;

 private:
  std::string key_of(const std::string& set) const;
  Results values_of(const internal::StateRows& rows) const;

  std::vector<std::string> sets_;
  Options options_;
  Results value_;
};

}  // namespace tally
