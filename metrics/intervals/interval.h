#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/intervals/named_parts.h"
#include "tally/metrics/options.h"
#include "tally/metrics/results.h"

namespace tally {

/// How the uncertainty of a metric is estimated; see IntervalMetric.
enum class IntervalMethod {
  kAuto,             ///< by the kind of metric
  kWilson,           ///< score interval of a proportion
  kClopperPearson,   ///< exact interval of a proportion, wider
  kLogitDelta,       ///< delta method over counts, on the logit scale
  kDelong,           ///< DeLong's variance of an AUROC, on the logit scale
  kNewcombe,         ///< Newcombe's interval of an AUROC, wider
  kPoissonCells,     ///< bootstrap: each count k becomes Poisson(k)
  kPoisson,          ///< bootstrap: each row has a weight of Poisson(1)
  kDoubleOrNothing,  ///< bootstrap: each row has a weight of 0 or 2
  kJackknife,        ///< leaves out one unit, or block of them, at a time
  kMover,            ///< of classes' Wilson intervals, for their mean
  kDelongNewcombe,   ///< the wider ends of both, of an AUROC
  kObuchowski,       ///< DeLong's variance of an AUROC of rows in groups
  kDeleteOne,        ///< the jackknife of single rows in closed form
  kOrderStatistic,   ///< exact interval of a quantile
  kDebiasedGaps,     ///< of the L2 calibration error, without its bias
};

template <>
struct EnumNames<IntervalMethod> {
  static constexpr const char* kNames[] = {
      "auto",          "wilson",     "clopper_pearson",
      "logit_delta",   "delong",     "newcombe",
      "poisson_cells", "poisson",    "double_or_nothing",
      "jackknife",     "mover",      "delong_newcombe",
      "obuchowski",    "delete_one", "order_statistic",
      "debiased_gaps"};
};

/// How the ends of an interval follow from replicates.
enum class ReplicateInterval {
  kPercentile,   ///< quantiles of the replicates
  kBca,          ///< the same, corrected for bias and skewness: for
                 ///< kPoissonCells, and replicates of an AUROC
  kNormal,       ///< value -+ z times their standard deviation
  kLogitNormal,  ///< the same on the logit scale, for values in [0, 1]
};

template <>
struct EnumNames<ReplicateInterval> {
  static constexpr const char* kNames[] = {"percentile", "bca", "normal",
                                           "logit_normal"};
};

/// The ends of an interval.
struct IntervalBounds {
  double low = 0;
  double high = 0;
};

/// The interval of one part of a result.
struct Interval {
  static constexpr const char* kNoun = "interval";

  /// The value and its ends as numbers. Throw c10::ValueError unless it has one
  /// element.
  double number() const { return internal::number_of("value", value); }
  IntervalBounds ends() const {
    return {internal::number_of("low", low), internal::number_of("high", high)};
  }

  /// float64, of the same shape. The ends are NaN where there is no interval:
  /// flags say why.
  at::Tensor value;
  at::Tensor low;
  at::Tensor high;
  at::Tensor standard_error;
  /// Of Student's t; infinity for methods that do not use it.
  at::Tensor degrees_of_freedom;
  Dimensions dimensions;  ///< of each of these
  double level = 0;
  IntervalMethod method = IntervalMethod::kAuto;  ///< the one used
  std::int64_t n = 0;  ///< rows that came, over all ranks
  /// Those that count, neither ignored nor without weight; of weighted rows the
  /// sum of their weights. For bootstraps ignored ones count.
  double counted = 0;
  /// What is drawn as a whole, and how many of them count.
  double units = 0;
  std::string unit = "row";     ///< "row", "group", "query", "image"
  std::int64_t replicates = 0;  ///< or blocks; 0 for formulas
  /// Replicates, or blocks, without a value: the most for any element.
  std::int64_t undefined = 0;
  IntervalFlags flags;  ///< of any element
};

/// Intervals by name.
class Intervals : public NamedParts<Interval> {
 public:
  using NamedParts::NamedParts;

  /// "name", "name.low" and "name.high"; "value", "low" and "high" for an empty
  /// name.
  Results results() const;
};

void for_each_tensor(Interval& interval,
                     c10::function_ref<void(at::Tensor&)> visit);
inline void for_each_tensor(Intervals& intervals,
                            c10::function_ref<void(at::Tensor&)> visit) {
  intervals.for_each_part(
      [&](Interval& part) { for_each_tensor(part, visit); });
}

}  // namespace tally
