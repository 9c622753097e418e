#pragma once

#include <optional>

#include "tally/metrics/classification/curves/score_counts.h"

/// Scalar values of a curve. A ROC curve is interpolated linearly between its
/// points, from (0, 0) to (1, 1). A value is NaN if a required rate has no
/// samples.
namespace tally::internal::classification {

/// The area under the ROC curve. With `max_fpr`, that of its part up to this
/// false positive rate, standardized such that 0.5 is chance and 1 the best
/// (McClish 1989).
double roc_area(const ScoreCounts& counts,
                std::optional<double> max_fpr = std::nullopt);

/// The area under the ROC curve between two false positive rates, over their
/// logarithm, divided by its length.
double log_roc_area(const ScoreCounts& counts, double low_fpr, double high_fpr);

/// The rate at which false positive and false negative rates are equal.
double equal_error_rate(const ScoreCounts& counts);

/// The mean of the precision at each positive's score.
double average_precision(const ScoreCounts& counts);

/// One end of what an area may be if samples that are counted as of one score
/// may have any order, or be of one score.
enum class Bound { kLower, kUpper };
/// Of roc_area; attained.
double roc_area_bound(const ScoreCounts& counts, Bound bound);
/// Of average_precision; attained, except the lower one of weights, whose parts
/// may be of any size.
double average_precision_bound(const ScoreCounts& counts, Bound bound);

}  // namespace tally::internal::classification
