#pragma once

#include <memory>
#include <string>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// Why a metric has no interval, by any method that draws rows, and what to use
/// instead; empty if it may have one.
std::string no_interval(const Metric& metric);

/// The engine of the method in the options, or one chosen by metric. Throws
/// c10::ValueError if it does not fit the metric.
std::unique_ptr<IntervalEngine> make_engine(std::unique_ptr<Metric> metric,
                                            const IntervalOptions& options);

/// Wilson's or Clopper-Pearson's intervals, where each element of the metric's
/// result is a function of a proportion of rows; otherwise null, and `metric`
/// is unchanged.
std::unique_ptr<IntervalEngine> proportion_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options);

/// The delta method or Poisson counts over the cells of a confusion matrix, for
/// metrics whose state is determined by one; otherwise null, and `metric` is
/// unchanged.
std::unique_ptr<IntervalEngine> cell_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options);

/// DeLong's or Newcombe's intervals of areas under ROC curves, one for each
/// curve; null for other metrics and options, and `metric` is then unchanged.
std::unique_ptr<IntervalEngine> area_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options);

/// Exact intervals of quantiles of single rows; null for other metrics, and
/// `metric` is then unchanged.
std::unique_ptr<IntervalEngine> order_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options);

/// Intervals of the root of a mean of squared gaps; null for other metrics, and
/// `metric` is then unchanged.
std::unique_ptr<IntervalEngine> gap_engine(std::unique_ptr<Metric>& metric,
                                           const IntervalOptions& options);

/// The average precision of an exact curve of single rows, without each of
/// them; null for other metrics, and `metric` is then unchanged.
std::unique_ptr<IntervalEngine> delete_one_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options);

/// Obuchowski's intervals of rows in groups, and replicates of the areas under
/// exact curves of a binary classifier: AUROC and average precision. Takes the
/// metric if it is such a one, and otherwise returns null.
std::unique_ptr<IntervalEngine> curve_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options);

}  // namespace tally::internal::intervals
