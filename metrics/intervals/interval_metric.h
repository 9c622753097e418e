#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/interval_options.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/intervals/row_metric.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/owned_metric.h"

namespace tally {

namespace internal::intervals {
class IntervalEngine;
}  // namespace internal::intervals

/// The methods that fit a metric with its options and rows in no groups: those
/// of what it says about its rows (MetricSampling), the one that kAuto selects
/// first, then what resamples. Empty if it has no interval.
///
/// Example:
///     std::vector<IntervalMethod> methods = interval_methods(BinaryAUROC());
///     bool has_delong = methods.front() == IntervalMethod::kDelong;
std::vector<IntervalMethod> interval_methods(const Metric& metric);

/// A metric with confidence intervals: the same on any split over ranks.
///
/// update(inputs...), update(ids, inputs...): the inputs of the metric, and ids
/// of the rows. compute(): for each part of the metric's result, the value and
/// the ends of its interval, elementwise, with what they rest on and flags that
/// say what a reader has to know. Flags are also warnings, once until reset().
///
/// kAuto selects the method by what the metric says of its rows
/// (MetricSampling; a program's own metrics may say it, too):
///
///     Wilson          proportions of rows: binary accuracy, precision, recall,
///                     specificity, negative predictive value, Hamming
///                     distance; one class's F1 score J -> 2J / (1 + J) of its
///                     Jaccard index J; of several classes, each one's (average
///                     none) and those that micro-averaging makes the accuracy
///     MOVER           means of classes' proportions: macro averages, balanced
///                     accuracy (Zou and Donner 2008, of Wilson's ends)
///     logit delta     other values of a confusion matrix: F-beta, Matthews
///                     correlation, kappa
///     DeLong and      AUROC: the wider ends of DeLong's, on the logit scale
///     Newcombe        with Student's t, and Newcombe's
///     Obuchowski      AUROC of rows in groups (1997)
///     delete-one      average precision: the jackknife of single rows
///     order statistic medians: exact, between two values
///     debiased gaps   the L2 calibration error, without its bias
///     jackknife       everything else: leaves out one unit at a time; of more
///                     than `blocks` units, a block of them
///
/// The jackknife's ends are value -+ t se on a scale that keeps them in the
/// metric's range (logit, logarithm, Fisher's z), with degrees of freedom by
/// Satterthwaite for units of unequal size, at most those of the rows that
/// decide the value (the positives of a recall). A proportion of units is
/// Wilson's, all of them right Clopper and Pearson's, and heavy tails are
/// widened by Hall's transformation (1992). Nothing varies, or a unit leaves no
/// value when it is left out: no interval. docs/statistics.md has for each
/// method when it holds, and how often it holds the truth in simulations.
///
/// Formulas take neither groups nor several positions a row, and only those of
/// areas and curves take weights. The jackknife and the bootstrap depend on
/// ids: by default a row's number, which above one rank depends on the split
/// and is refused there. Blocks and weights are functions of seed and id alone
/// (see ReplicateWeights), so that any split over ranks, batches and processes
/// draws the same. A metric whose units are not its rows, such as the queries
/// of retrieval, knows them and takes no ids of rows.
///
/// On request, kPoisson and kDoubleOrNothing make bootstrap replicates of
/// states that are sums, of counts, and of exact curves. Replicates whose value
/// is NaN are excluded and counted; an element for which they are over 5 % has
/// no interval. Values that grow with the number of rows (sums) are those of
/// replicates scaled to n rows. Ends of kBca are for Poisson cells and for the
/// AUROC's replicates, `stratified` also for those of average precision.
///
/// Collective: one or two exchanges of states. In a sync_together() with
/// metrics, none of its own. State: that of the metric; for Poisson
/// `replicates` of them (of curves the rows, once), for the jackknife one for
/// each unit, at most `blocks`; and the ids.
/// Empty without rows: the metric's value without data, and NaN.
/// Errors: c10::ValueError for metrics without such an interval (extremes,
/// whose bootstrap is inconsistent: MaxMetric, MinMetric, MaxError; estimates
/// whose bias resampling doubles: other calibration errors, FID, mutual
/// information, ratios of extremes; values that depend on batches), for methods
/// that do not fit the metric, and for sizes of results that depend on the
/// data; for inputs that the method does not take, numbers of ids and rows that
/// differ, ids that repeat (unless `grouped`), and those of the metric. A call
/// that throws leaves everything unchanged. Not differentiable.
///
/// Thread-safety: as for Metric.
///
/// Example:
///     IntervalMetric accuracy(BinaryAccuracy(),
///                             IntervalOptions().level(0.9));
///     accuracy.update(scores, labels);
///     Interval interval = accuracy.compute().value();
///     std::cout << interval.low << interval.value << interval.high;
class IntervalMetric final : public RowMetric,
                             public internal::OptionCalls<IntervalMetric> {
 public:
  using Options = IntervalOptions;
  static constexpr const char* kName = "IntervalMetric";

  explicit IntervalMetric(OwnedMetric metric, Options options = {});
  IntervalMetric(IntervalMetric&&) noexcept;
  IntervalMetric& operator=(IntervalMetric&&) noexcept;
  ~IntervalMetric();

  const Options& options() const;
  const Metric& metric() const override;
  /// The method in use; never kAuto.
  IntervalMethod method() const;

  /// Over all ranks: those of the metric's communicator.
  Intervals compute();
  /// The value as a number; see Intervals::number.
  double number() { return compute().number(); }
  /// See MetricOf::sync_async.
  PendingValue<Intervals> sync_async();
  /// The metric's values in the replicates, or without each block, to be
  /// compared with those of another model on the same rows. Collective, as
  /// compute(). Throws c10::ValueError for methods other than kPoisson,
  /// kDoubleOrNothing and kJackknife, and without rows.
  Replicates replicates();

  /// Adds what `other`, of the same metric and options, accumulated. Throws
  /// c10::ValueError for rows that have numbers instead of ids.
  void merge_state(const IntervalMetric& other) { merge_rows(other); }
  /// A separate one with the same metric, options and state.
  IntervalMetric clone() const;
  /// "IntervalMetric(metric=BinaryAccuracy(...), method=wilson)".
  std::string repr() const;
  std::string spec() const override;

 private:
  explicit IntervalMetric(
      std::unique_ptr<internal::intervals::IntervalEngine> engine);
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;

  std::unique_ptr<internal::intervals::IntervalEngine> engine_;
  Intervals value_;
};

}  // namespace tally
