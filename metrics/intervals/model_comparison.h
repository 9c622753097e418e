#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/intervals/comparison.h"
#include "tally/metrics/intervals/model_comparison_options.h"
#include "tally/metrics/intervals/row_metric.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/owned_metric.h"

namespace tally {

namespace internal::intervals {
class ComparisonEngine;
}  // namespace internal::intervals

/// Whether one of two models is better, by a metric of both on the same rows.
///
/// update(first, second, shared...), update(ids, first, second, shared...): the
/// first input of the metric, the models' own, once for each model; then its
/// other inputs, which both share. Of BinaryAccuracy: update(first_preds,
/// second_preds, target), the names of the inputs. ids: those of the rows.
/// compute(): for each part of the metric's result both values, first - second,
/// the ends of its interval, and the p-value of no difference.
///
/// kAuto selects the method by metric and options:
///
///     McNemar    fractions of correct rows: BinaryAccuracy, micro-averaged
///                MulticlassAccuracy, MulticlassExactMatch,
///                MultilabelExactMatch: mid-p, paired_difference_interval()
///     DeLong     BinaryAUROC of exact curves: compare_areas()
///     jackknife  everything else: Student's t of differences without each
///                unit, and for means of up to 200 units the p-value of their
///                signs, see compare(); on request replicates, for sums, counts
///                and AUROC and average precision of one exact curve
///
/// The first two take neither groups, nor weights, nor several positions a row.
/// The others depend on ids and units, as IntervalMetric does. The interval and
/// the p-value are two approximations; close to 1 - level, one may find a
/// difference where the other does not. Fewer than 6 units cannot show a
/// difference of means by their signs: no p-value is below 0.05.
///
/// Collective: one or two exchanges of states. State: six counts (McNemar);
/// both scores and the target of each row (DeLong); twice that of
/// IntervalMetric. Where a metric ignores rows by their target, both models'
/// are; NaN that a metric ignores have to be in the same rows.
/// Empty without rows: the metric's value without data, and NaN.
/// Errors: c10::ValueError for metrics that IntervalMetric refuses, for methods
/// that do not fit the metric, and for inputs that the method does not take;
/// for numbers of ids and rows that differ, ids that repeat (unless `grouped`),
/// and those of the metric. A call that throws leaves everything unchanged. Not
/// differentiable.
///
/// Thread-safety: as for Metric.
///
/// Example:
///     ModelComparison accuracy{BinaryAccuracy()};
///     accuracy.update(scores, scores.square(), labels);
///     Comparison models = accuracy.compute().value();
///     std::cout << models.difference << models.low << models.high
///               << models.p_value;
class ModelComparison final : public RowMetric,
                              public internal::OptionCalls<ModelComparison> {
 public:
  using Options = ModelComparisonOptions;
  static constexpr const char* kName = "ModelComparison";

  explicit ModelComparison(OwnedMetric metric, Options options = {});
  ModelComparison(ModelComparison&&) noexcept;
  ModelComparison& operator=(ModelComparison&&) noexcept;
  ~ModelComparison();

  const Options& options() const;
  const Metric& metric() const override;
  c10::ArrayRef<InputInfo> inputs() const override { return inputs_; }
  /// The method in use; never kAuto.
  ComparisonMethod method() const;

  /// Over all ranks: those of the metric's communicator.
  Comparisons compute();
  /// The difference as a number; see Comparisons::number.
  double number() { return compute().number(); }
  /// See MetricOf::sync_async.
  PendingValue<Comparisons> sync_async();

  /// As in IntervalMetric.
  void merge_state(const ModelComparison& other) { merge_rows(other); }
  ModelComparison clone() const;
  std::string repr() const;
  std::string spec() const override;

 private:
  explicit ModelComparison(
      std::unique_ptr<internal::intervals::ComparisonEngine> engine);
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;

  std::unique_ptr<internal::intervals::ComparisonEngine> engine_;
  std::vector<std::string> names_;  // of the models' inputs
  std::vector<InputInfo> inputs_;
  Comparisons value_;
};

}  // namespace tally
