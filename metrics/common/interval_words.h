#pragma once

/// Why some metrics have no interval, and what to use instead: kNoInterval of a
/// metric. Behind "has no interval: ".
namespace tally::internal {

inline constexpr const char* kNoIntervalOfGaps =
    "the gaps of its bins are biased upward, and again in resampled rows, so "
    "that intervals miss the true value; use norm l2, whose interval corrects "
    "for that, compare the Brier score or the log loss, and draw the bins with "
    "their intervals (calibration_plot)";
inline constexpr const char* kNoIntervalOfFeatures =
    "its value depends on the number of samples, so that intervals miss the "
    "value of the distribution; use KernelInceptionDistance, or compare models "
    "on the same number of samples";
inline constexpr const char* kNoIntervalOfInformation =
    "it is biased upward for few samples, so that intervals miss the true "
    "value; use AdjustedMutualInfoScore or AdjustedRandScore";
inline constexpr const char* kNoIntervalOfQueries =
    "quantiles and extremes of queries vary differently when single queries "
    "are left out than over new ones; use aggregation=mean";
inline constexpr const char* kNoIntervalOfRatios =
    "a ratio of the lowest and the highest rate is an extreme, which is below "
    "1 even if all groups are equal; compare groups with SliceComparison";

}  // namespace tally::internal
