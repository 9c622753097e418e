#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally {

/// Results as a table: one line per number; vectors over the same elements side
/// by side, one line per element; matrices with a name for every row and
/// column. Larger tensors are shown by dtype and sizes.
///
/// `class_names` name the elements of dimensions that are
/// classes (see Dimension), if there is one for each, or those that the result
/// `classes` of the same metric lists. All other elements are numbered from 0,
/// and vectors of at most ten of them printed on one line, as operator<< does
/// for Results.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("f1", MulticlassF1Score(
///                           MulticlassF1ScoreOptions(2).average(Average::kNone)));
///     metrics.add("confusion", MulticlassConfusionMatrix(2));
///     metrics.update(preds.narrow(1, 0, 2), target.clamp(0, 1));
///     std::cout << to_table(metrics.compute(), {"cat", "dog"});
std::string to_table(const Results& results,
                     const std::vector<std::string>& class_names = {});

namespace internal {

/// What the elements along a dimension are shown as.
struct Elements {
  std::vector<std::string> names;
  bool are_named = false;  ///< by the labels
};
Elements elements_of(const Results& results, const std::string& name,
                     std::int64_t dimension,
                     const std::vector<std::string>& class_names);

/// A line for each name, with the elements of vectors that are as long.
std::string table_of_columns(const Results& columns,
                             const std::vector<std::string>& names);

}  // namespace internal
}  // namespace tally
