#pragma once

/// Why some metrics have no interval, and what to use instead: kNoInterval of a
/// metric. Behind "has no interval: ".
namespace tally::internal {

inline constexpr const char* kNoIntervalOfGaps =
    "the gaps of its bins are larger than those of the truth, and larger again "
    "in resampled rows, so that ends do not cover it; use norm l2, whose "
    "interval corrects for that, compare the Brier score or the log loss, and "
    "draw the bins with their intervals (calibration_plot)";
inline constexpr const char* kNoIntervalOfFeatures =
    "its value falls with the number of samples, so that ends do not cover "
    "that of all; use KernelInceptionDistance, or compare models on the same "
    "number of samples";
inline constexpr const char* kNoIntervalOfInformation =
    "few samples in a cell look like information, so that ends do not cover "
    "the truth; use AdjustedMutualInfoScore or AdjustedRandScore";
inline constexpr const char* kNoIntervalOfQueries =
    "quantiles and extremes of queries do not vary like those of new ones when "
    "queries are left out; use aggregation=mean";
inline constexpr const char* kNoIntervalOfRatios =
    "a ratio of the lowest and the highest rate is an extreme, which is below "
    "1 even if all groups are equal; compare groups with SliceComparison";

}  // namespace tally::internal
