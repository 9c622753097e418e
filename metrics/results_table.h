#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally {

/// Results for readers: a line for each number; vectors of one length side by
/// side, a line for each element; each matrix with a name for every row and
/// column. What is too large for that is shown by its dtype and sizes.
///
/// `labels` are the names of the classes, for vectors and matrices of so many;
/// others have numbers from 0. Without labels a vector of at most ten elements
/// stands on a line of its own, which is how Results print themselves.
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
