#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally {

/// Results as a table: one line per number; vectors of equal length side by
/// side, one line per element; matrices with a name for every row and column.
/// Larger tensors are shown by dtype and sizes.
///
/// `labels` are class names, used for vectors and matrices of that size; others
/// are numbered from 0. Without labels, a vector of at most ten elements is
/// printed on one line, as operator<< does for Results.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("f1", MulticlassF1Score(
///                           MulticlassF1ScoreOptions(2).average(Average::kNone)));
///     metrics.add("confusion", MulticlassConfusionMatrix(2));
///     metrics.update(preds.narrow(1, 0, 2), target.clamp(0, 1));
///     std::cout << to_table(metrics.compute(), {"cat", "dog"});
std::string to_table(const Results& results,
                     const std::vector<std::string>& labels = {});

}  // namespace tally
