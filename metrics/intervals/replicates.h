#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/comparison.h"
#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/results.h"

namespace tally {

/// A metric's values in bootstrap replicates, or without each block of the
/// jackknife, from IntervalMetric::replicates(). Those of two models on the
/// same rows, computed apart from each other, can be compared: see compare().
struct Replicates {
  std::string metric;  ///< its repr()
  IntervalMethod method = IntervalMethod::kPoisson;
  std::int64_t seed = 0;
  std::int64_t n = 0;       ///< rows, over all ranks
  std::int64_t digest = 0;  ///< of the ids of all rows, whatever their order
  Results values;           ///< float64
  Results replicates;       ///< float64 [replicates, ...], with the same names
};

/// Those of several metrics, by name.
using NamedReplicates = std::vector<std::pair<std::string, Replicates>>;

/// JSON: {"format": "tally replicates", "version": 1, "metrics": [...]}, each
/// with the fields of Replicates, and "parts" of "name", "sizes", "value" and
/// "replicates", the numbers in the order of memory. NaN are null.
std::string to_text(const NamedReplicates& replicates);
/// Throws c10::ValueError for another text, or a version that is newer.
NamedReplicates parse_replicates(const std::string& text);

/// Compares two models on the same rows, by part of the result. A row has the
/// same weights in both, so that what makes it hard for both does not count.
/// The ends of the interval are percentiles of the replicates' differences; the
/// p-value is
///
///     min(1, 2 (1 + k) / (1 + replicates))
/// where k is the smaller number of differences on either side of 0, counting
/// those that are 0. For the jackknife, with its standard error of the
/// difference and K blocks,
///
///     se^2 = (K - 1) / K sum over blocks of (d_k - mean d)^2
///     t = difference / se, with K - 1 degrees of freedom
/// Where over 5 % of the replicates are NaN, ends and p-value are.
///
/// Throws c10::ValueError unless metric, method, seed, number of rows and of
/// replicates and the ids' digest agree, and for a level outside (0, 1).
///
/// Example:
///     IntervalMetric first{MeanSquaredError()}, second{MeanSquaredError()};
///     first.update(preds, target);
///     second.update(value, target);
///     auto parts = compare(first.replicates(), second.replicates(), 0.95);
Comparisons compare(const Replicates& first, const Replicates& second,
                    double level);

namespace internal::intervals {
/// Throws c10::ValueError for a method without replicates.
ComparisonMethod comparison_method(IntervalMethod method);
}  // namespace internal::intervals

}  // namespace tally
