#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/comparison.h"
#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/row_matches.h"
#include "tally/metrics/results.h"
#include "tally/metrics/sampling.h"

namespace tally {

/// What values without each unit rest on.
struct ReplicateUnits {
  std::string unit = "row";  ///< "row", "group", "query", "image"
  bool are_groups = false;
  double units = 0;    ///< that count; more than ids where these are blocks
  double counted = 0;  ///< rows that count, or their weights
  std::vector<std::int64_t> ids;  ///< of the units, or the blocks
  std::vector<double> sizes;      ///< their rows that count, or weights
  double deciding = 0;            ///< rows that decide the value; NaN: all
  ValueRange range;               ///< of the metric
  /// Whether each number of the result is the mean of what units have alone.
  std::vector<bool> are_means;
  /// Of the fraction of rows that are correct: which are, in the order of ids,
  /// up to 1e7. Two of these are compared by McNemar's test.
  std::vector<internal::intervals::RowMatch> matches;
};

/// A metric's values in bootstrap replicates, or without each unit of the
/// jackknife, from IntervalMetric::replicates(). Those of two models on the
/// same rows, computed apart from each other, can be compared: see compare().
struct Replicates {
  std::string metric;  ///< its repr()
  IntervalMethod method = IntervalMethod::kPoisson;
  std::int64_t seed = 0;
  std::int64_t n = 0;        ///< rows, over all ranks
  std::int64_t digest = 0;   ///< of the ids of all rows, whatever their order
  bool is_selected = false;  ///< see IntervalFlag::kSelected
  Results values;            ///< float64
  Results replicates;        ///< float64 [replicates, ...], with the same names
  /// Of the jackknife; none from a file of version 1, which has blocks.
  std::optional<ReplicateUnits> by_unit;
};

/// Those of several metrics, by name.
using NamedReplicates = std::vector<std::pair<std::string, Replicates>>;

/// JSON: {"format": "tally replicates", "version": 2, "metrics": [...]}, each
/// with the fields of Replicates, "units" with those of ReplicateUnits, and
/// "parts" of "name", "sizes", "value" and "replicates", the numbers in the
/// order of memory. NaN and infinities are null.
std::string to_text(const NamedReplicates& replicates);
/// Throws c10::ValueError for another text, or a version that is newer.
NamedReplicates parse_replicates(const std::string& text);

/// Compares two models on the same rows, by part of the result. A row has the
/// same weights in both, so that what makes it hard for both does not count.
///
/// The ends of bootstrap intervals are percentiles of the replicates'
/// differences, and the p-value is
///
///     min(1, 2 (1 + k) / (1 + replicates))
/// where k is the smaller number of differences on either side of 0, counting
/// those that are 0. Where over 5 % of the replicates are NaN, ends and p-value
/// are.
///
/// Fractions of rows that are correct are compared row by row, by McNemar's
/// test, as ModelComparison does.
///
/// For the jackknife of K units, d_k the difference without unit k,
///
///     se^2 = (K - 1) / K sum over units of (d_k - mean d)^2
///     t = difference / se, with degrees of freedom by Satterthwaite
/// and the ends are those of t, on the scale of Fisher's z where the metric is
/// bounded. If both values are means over at most 200 units, the p-value is
/// that of the signs of units' differences: all flips of up to 16 units, 4999
/// random ones of more, with p = (1 + those that reach the sum) / (1 + flips)
/// (Phipson and Smyth 2010). There is neither if the value is undefined without
/// some unit.
///
/// Throws c10::ValueError unless metric, method, seed, number of rows and of
/// replicates, the ids' digest and the units that count agree, and for a level
/// outside (0, 1).
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
