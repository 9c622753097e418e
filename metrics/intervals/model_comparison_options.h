#pragma once

#include <torch/arg.h>

#include <cstdint>

#include "tally/metrics/intervals/comparison.h"
#include "tally/metrics/options.h"

namespace tally {

/// Options of ModelComparison.
///
/// Example:
///     ModelComparison f1(
///         BinaryF1Score(),
///         ModelComparisonOptions().method(ComparisonMethod::kJackknife));
struct ModelComparisonOptions {
  /// Of the intervals, in (0, 1).
  TORCH_ARG(double, level) = 0.95;
  /// Default: kAuto.
  TORCH_ARG(ComparisonMethod, method) = ComparisonMethod::kAuto;
  /// Number of bootstrap replicates, at least 2.
  TORCH_ARG(std::int64_t, replicates) = 1000;
  /// Up to so many units the jackknife leaves out one at a time; of more, it
  /// divides them into so many blocks, by seed and id. At least 2. Default: 0,
  /// 250.
  TORCH_ARG(std::int64_t, blocks) = 0;
  /// Seed of the random numbers.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// Whether rows with the same id belong together; see IntervalOptions.
  TORCH_ARG(bool, grouped) = false;

 public:
  void visit(OptionVisitor& v) {
    v("level", level_, OptionRole::kValue, "Of the intervals, in (0, 1).");
    v("method", method_, "How models are compared.");
    v("replicates", replicates_, OptionRole::kSize,
      "Number of bootstrap replicates.");
    v("blocks", blocks_, OptionRole::kSize,
      "Most units that the jackknife omits one at a time; 0: 250.");
    v("seed", seed_, "Seed of the random numbers.");
    v("grouped", grouped_, "Whether rows with the same id belong together.");
  }
};

}  // namespace tally
