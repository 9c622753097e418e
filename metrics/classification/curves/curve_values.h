#pragma once

#include <optional>

#include "tally/metrics/classification/curves/score_counts.h"

/// What single numbers are read from a curve. Straight lines join the points of
/// a ROC curve that tied scores leave; it runs from (0, 0) to (1, 1). Each is
/// NaN where a rate that it needs has no samples.
namespace tally::internal::classification {

/// The area under the ROC curve. With `max_fpr`, that of its part up to this
/// false positive rate, standardised so that 0.5 is chance and 1 the best
/// (McClish 1989).
double roc_area(const ScoreCounts& counts,
                std::optional<double> max_fpr = std::nullopt);

/// The area under the ROC curve between two false positive rates, over their
/// logarithm, divided by its length.
double log_roc_area(const ScoreCounts& counts, double low_fpr, double high_fpr);

/// The rate at which the ROC curve has as many false positives as false
/// negatives.
double equal_error_rate(const ScoreCounts& counts);

/// The mean of the precision at each positive's score.
double average_precision(const ScoreCounts& counts);

}  // namespace tally::internal::classification
