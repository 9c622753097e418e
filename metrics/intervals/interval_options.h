#pragma once

#include <torch/arg.h>

#include <cstdint>

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/options.h"

namespace tally {

/// Options of IntervalMetric.
///
/// Example:
///     IntervalMetric f1(
///         BinaryF1Score(),
///         IntervalOptions().level(0.9).method(IntervalMethod::kJackknife));
struct IntervalOptions {
  /// In (0, 1).
  TORCH_ARG(double, level) = 0.95;
  /// Default: kAuto.
  TORCH_ARG(IntervalMethod, method) = IntervalMethod::kAuto;
  /// How the ends follow from replicates.
  TORCH_ARG(ReplicateInterval, ends) = ReplicateInterval::kPercentile;
  /// Number of bootstrap replicates, at least 2. Percentiles need about 1000, a
  /// standard deviation 200.
  TORCH_ARG(std::int64_t, replicates) = 1000;
  /// Up to so many units the jackknife leaves out one at a time; of more, it
  /// divides them into so many blocks, by seed and id. At least 2. Default: 0,
  /// 250.
  TORCH_ARG(std::int64_t, blocks) = 0;
  /// Seed of the random numbers.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// Whether rows with the same id belong together, such as those of a patient
  /// or a user: such a group is drawn as a whole, wherever its rows are.
  /// Without, an id that repeats is an error. A metric's own units, the queries
  /// of a retrieval metric, need no group.
  TORCH_ARG(bool, grouped) = false;
  /// Whether replicates keep the number of rows of each class of target, or
  /// their weights: intervals for samples that were drawn by class, such as of
  /// cases and controls. Of kPoissonCells, and of replicates of average
  /// precision and AUROC (for which it makes no difference).
  TORCH_ARG(bool, stratified) = false;

 public:
  /// Throws c10::ValueError for invalid values.
  void validate() const;

  void visit(OptionVisitor& v) {
    v("level", level_, OptionRole::kValue, "In (0, 1).");
    v("method", method_, "How the interval is made.");
    v("ends", ends_, OptionRole::kValue,
      "How bounds are computed from replicates.");
    v("replicates", replicates_, OptionRole::kSize,
      "Number of bootstrap replicates.");
    v("blocks", blocks_, OptionRole::kSize,
      "Most units that the jackknife omits one at a time; 0: 250.");
    v("seed", seed_, "Seed of the random numbers.");
    v("grouped", grouped_, "Whether rows with the same id belong together.");
    v("stratified", stratified_,
      "Whether replicates keep the rows of each class of target.");
  }
};

}  // namespace tally
